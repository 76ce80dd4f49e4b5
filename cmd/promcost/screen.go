package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/texttable"
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
	_, _ = io.WriteString(s.w, wipeLine+texttable.CutEnd(visible.Text(bar), widthOf(s.w)-1)) // nobody could read an error
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

// terminalOf is the terminal that stream is, something that is read or written; nil if it is none.
func terminalOf(stream any) *os.File {
	switch s := stream.(type) {
	case *screen:
		stream = s.w
	case *visible.Writer:
		stream = s.W
	}
	if file, ok := stream.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// isTerminal reports whether stream is a terminal.
func isTerminal(stream any) bool { return terminalOf(stream) != nil }

// widthOf is how many cells a line of the terminal that stream is has, 0 for what is none, or does not say so.
func widthOf(stream any) int {
	file := terminalOf(stream)
	if file == nil {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
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
	const word = "warning:"
	text = texttable.Wrap(word+" "+visible.Text(text), widthOf(w))
	return mark(w, yellow, word, strings.TrimPrefix(text, word+" "))
}

// mostWarnings is how many warnings stand below a table.
const mostWarnings = 3

// warnFor writes the warnings of an answer, those that matter most first: below a table at most mostWarnings of different kinds, and how many others
// there are; none beside JSON, which has them.
func warnFor(w io.Writer, texts []string, output string) error {
	shown := slices.Clone(texts)
	notices.ByLevel(shown)
	switch output {
	case "json":
		return nil
	case "table":
		shown = notices.Foremost(texts, mostWarnings)
	}
	for _, text := range shown {
		if err := warn(w, text); err != nil {
			return err
		}
	}
	if rest := len(texts) - len(shown); rest > 0 {
		return writeLine(w, texttable.Wrap(counted(rest, "{n} more {warning is|warnings are} in the answer: -o json shows {it|them}"), widthOf(w)))
	}
	return nil
}

// mark writes a colored word and a text, whose own escape sequences are shown.
func mark(w io.Writer, color, word, text string) error {
	line := paint(w, color, word) + " " + visible.Lines(text)
	if s, ok := w.(*screen); ok {
		return s.send(line + "\n")
	}
	return writeLine(w, line)
}
