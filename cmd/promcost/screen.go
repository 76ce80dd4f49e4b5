package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/promcost/promcost/allocation/visible"
)

// screen is standard error, with a progress bar below the text that is written.
type screen struct {
	w    io.Writer
	logs *logFlags // logs and a bar do not mix; nil draws the bar

	mu    sync.Mutex
	drawn bool
}

// Write implements io.Writer: it wipes out the bar, which is drawn again. Of what is written, nothing that a terminal obeys gets through.
func (s *screen) Write(p []byte) (int, error) {
	if err := s.send(visible.Lines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// send writes a text as it is in place of the bar.
func (s *screen) send(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	_, err := io.WriteString(s.w, text)
	return err
}

// draw draws a bar in place of the one that is there.
func (s *screen) draw(bar string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, wipeLine+visible.Text(bar)) // nobody could read an error
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
	switch s := stream.(type) {
	case *screen:
		stream = s.w
	case *visible.Writer:
		stream = s.W
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
	return mark(w, yellow, "warning:", text)
}

// mark writes a colored word and a text, whose own escape sequences are shown.
func mark(w io.Writer, color, word, text string) error {
	line := paint(w, color, word) + " " + visible.Lines(text)
	if s, ok := w.(*screen); ok {
		return s.send(line + "\n")
	}
	return writeLine(w, line)
}
