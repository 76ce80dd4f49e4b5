package promtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Usage is what a process has used since it started.
type Usage struct {
	CPUSeconds     float64 // in user and system mode
	AnonymousBytes int64   // resident memory now, without the pages of mapped files
}

// ticks are the units of /proc/<pid>/stat in a second: USER_HZ, which is the same wherever Linux runs.
const ticks = 100

// readUsage reads what Linux knows of a process.
func readUsage(pid int) (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("read usage of process %d: %w; this works on Linux only", pid, err)
	}
	// What follows the name, which is in brackets and may hold anything, begins with the third field.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("read usage of process %d: %d fields in its stat, want more", pid, len(fields))
	}
	for _, text := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return u, fmt.Errorf("read usage of process %d: %w", pid, err)
		}
		u.CPUSeconds += float64(n) / ticks
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("read usage of process %d: %w", pid, err)
	}
	_, anonymous, _ := strings.Cut(string(status), "RssAnon:")
	anonymous, _, _ = strings.Cut(anonymous, "kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(anonymous), 10, 64)
	if err != nil {
		return u, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	u.AnonymousBytes = kb << 10
	return u, nil
}
