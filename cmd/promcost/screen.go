package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// screen is standard error, with a progress bar below the text that is written.
type screen struct {
	w    io.Writer
	logs *logFlags // logs and a bar do not mix; nil draws the bar

	mu    sync.Mutex
	drawn bool
}

// Write implements io.Writer: it wipes out the bar, which is drawn again.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.w.Write(p)
}

// draw draws a bar in place of the one that is there.
func (s *screen) draw(bar string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, wipeLine+bar) // nobody could read an error
	s.drawn = true
}

// clear wipes out the bar.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *screen) wipe() {
	if s.drawn {
		_, _ = io.WriteString(s.w, wipeLine)
		s.drawn = false
	}
}

// wipeLine goes to the beginning of the line and wipes it out.
const wipeLine = "\r\033[K"

// isTerminal reports whether stream, something that is read or written, is a terminal.
func isTerminal(stream any) bool {
	if s, ok := stream.(*screen); ok {
		stream = s.w
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// isWatched reports whether to draw progress on w: it must be a terminal that can show it, and no logs may be on it.
func isWatched(w io.Writer) bool {
	if s, ok := w.(*screen); ok && s.logs != nil && s.logs.levelGiven {
		return false
	}
	return isTerminal(w) && os.Getenv("TERM") != "dumb"
}

// Colors of texts.
const (
	red    = "31"
	yellow = "33"
)

// paint colors text if w is a terminal that shows colors, unless NO_COLOR forbids it.
func paint(w io.Writer, color, text string) string {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\033[" + color + "m" + text + "\033[0m"
}

// warn writes a warning.
func warn(w io.Writer, text string) error {
	return writeLine(w, paint(w, yellow, "warning:")+" "+text)
}
