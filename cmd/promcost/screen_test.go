package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestScreen writes below a bar, which is wiped out before.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	s := &screen{w: &b}
	s.clear()
	s.draw("[=  ]")
	_, _ = s.Write([]byte("first\n"))
	_, _ = s.Write([]byte("second\n"))
	s.draw("[== ]")
	s.clear()
	if got, want := b.String(), "\r\033[K[=  ]\r\033[Kfirst\nsecond\n\r\033[K[== ]\r\033[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTerminals checks where bars are drawn and texts are colored.
func TestTerminals(t *testing.T) {
	for _, tt := range []struct {
		name             string
		pipe             bool
		term, noColor    string
		args             []string
		watched, colored bool
	}{
		{name: "a terminal", term: "xterm", watched: true, colored: true},
		{name: "a pipe", pipe: true, term: "xterm"},
		{name: "a dumb terminal", term: "dumb"},
		{name: "no colors", term: "xterm", noColor: "1", watched: true},
		{name: "logs", term: "xterm", args: []string{"--log.level=info"}, colored: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TERM", tt.term)
			t.Setenv("NO_COLOR", tt.noColor)
			tty, written := openTerminal(t)
			var b bytes.Buffer
			on := &screen{w: tty}
			if tt.pipe {
				on.w = &b
			}
			app, _ := newApp(streams{err: on})
			if _, err := app.Parse(append([]string{"version"}, tt.args...)); err != nil {
				t.Fatal(err)
			}
			if got := isWatched(on); got != tt.watched {
				t.Errorf("watched %v, want %v", got, tt.watched)
			}
			if code := run(t.Context(), []string{"serve"}, &b, on.w); code != exitUsage {
				t.Errorf("exit %d", code)
			}
			if err := warn(on, "odd"); err != nil {
				t.Error(err)
			}
			got := written() + b.String()
			if colored := strings.HasPrefix(got, "\033[31mpromcost:\033[0m no source") && strings.HasSuffix(got, "\033[33mwarning:\033[0m odd\n"); colored != tt.colored {
				t.Errorf("colored %v, want %v: %q", colored, tt.colored, got)
			}
			if plain := strings.HasPrefix(got, "promcost: no source") && strings.HasSuffix(got, "\nwarning: odd\n"); plain == tt.colored {
				t.Errorf("plain %v: %q", plain, got)
			}
		})
	}
}
