//go:build !linux

package remote

import "net"

// wakeAfter is nil: other kernels wake readers at once.
func wakeAfter(net.Conn) func(bytes int) { return nil }
