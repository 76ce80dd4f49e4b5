package remote

import (
	"net"
	"syscall"
)

// wakeAfter returns a function that sets how many bytes have to have come for a reader of c to be woken, nil where that cannot be set.
// At the end of the data, and when the kernel has no room for so many, it is woken anyway. Data that has come is always there for a
// reader that looks.
func wakeAfter(c net.Conn) func(bytes int) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return func(bytes int) {
		_ = raw.Control(func(fd uintptr) { // of a connection that is closed it fails, and need not succeed
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes) // where it fails, readers are woken at once
		})
	}
}
