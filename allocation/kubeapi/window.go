package kubeapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/windows"
)

// DefaultWindow is the window of objects whose name and whose selector have none.
const DefaultWindow = "24h"

// The longest window, and the longest text of one.
const (
	longestWindow = 400 * 24 * time.Hour
	maxWindowText = 16
)

// parseWindow reads the length of a window: a whole number of hours.
func parseWindow(text string) (time.Duration, error) {
	length, err := time.Duration(0), error(nil)
	if len(text) <= maxWindowText {
		length, err = windows.ParseDuration(text)
	}
	switch {
	case err != nil || length < time.Hour || length%time.Hour != 0:
		return 0, fmt.Errorf("window %.20q is no whole number of hours: give one such as 24h, 7d or 2w", text)
	case length > longestWindow:
		return 0, fmt.Errorf("window %q is too long: give at most %dd", text, longestWindow/(24*time.Hour))
	}
	return length, nil
}

// splitName divides the name of an object into that of its pod or asset and its window. suffix is what names of objects in that window
// end in.
func splitName(name string) (base, window, suffix string) {
	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return name, DefaultWindow, ""
	}
	return name[:i], name[i+1:], name[i:]
}

// suffixOf is what names of objects in a window end in.
func suffixOf(window string) string {
	if window == DefaultWindow {
		return ""
	}
	return ":" + window
}
