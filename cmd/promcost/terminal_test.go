package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal. The function closes it and returns what was written to it.
func openTerminal(t *testing.T) (tty *os.File, written func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open a terminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("unlock the terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("name the terminal: %v", err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open the terminal: %v", err)
	}
	text := make(chan string, 1)
	go func() {
		all, err := io.ReadAll(master) // ends with an error once nobody has the other side open
		if err != nil && !errors.Is(err, unix.EIO) {
			t.Errorf("read the terminal: %v", err)
		}
		text <- strings.ReplaceAll(string(all), "\r\n", "\n")
	}()
	return tty, func() string {
		_ = tty.Close()
		return <-text
	}
}
