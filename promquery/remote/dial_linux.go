package remote

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// wakeAfter returns a function that sets how many bytes have to have come for a reader of c to be woken, nil where that cannot be set.
// At the end of the data, and when the kernel has no room for so many, it is woken anyway. Data that has come is always there for a
// reader that looks.
func wakeAfter(c net.Conn) func(bytes int) {
	tcp, ok := c.(*net.TCPConn)
	if !ok || !wakesAnew() {
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

// wakesAnew reports whether the kernel wakes a reader when so little is asked for that it has come already: Linux does since 4.18
// (tcp_set_rcvlowat).
func wakesAnew() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	major, minor := 0, 0
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 4 || major == 4 && minor >= 18)
}
