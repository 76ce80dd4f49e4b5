package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How the progress bar moves.
const (
	progressDelay = time.Second // short work shows none
	progressTick  = 200 * time.Millisecond
	progressWidth = 24
)

// showProgress draws a moving bar with the elapsed time and the status until the returned function is called. It draws nothing if
// w is not a terminal, or if the work takes less than a second.
func showProgress(w io.Writer, status func() string) (stop func()) {
	return showPictures(w, func(n int, elapsed time.Duration) string { return onLine(w, progressLine(n, elapsed, status())) })
}

// showBar draws a bar of done out of all, like showProgress.
func showBar(w io.Writer, status func() (done, all int, text string)) (stop func()) {
	return showPictures(w, func(int, time.Duration) string { return onLine(w, barLine(status())) })
}

// onLine is a picture without its bar where that would take half of a terminal's line: how much is done, and how long the rest takes, matter more.
func onLine(w io.Writer, picture string) string { return withoutBar(picture, widthOf(w)) }

func withoutBar(picture string, width int) string {
	if bar, text, ok := strings.Cut(picture, "] "); ok && width > 0 && len(bar) > width/2 {
		return text
	}
	return picture
}

func showPictures(w io.Writer, picture func(n int, elapsed time.Duration) string) (stop func()) {
	if !isWatched(w) {
		return func() {}
	}
	return drawPictures(w, progressDelay, progressTick, picture)
}

// drawPictures draws a picture after delay, every tick, and wipes it out in the end.
func drawPictures(w io.Writer, delay, tick time.Duration, picture func(n int, elapsed time.Duration) string) (stop func()) {
	on, ok := w.(*screen)
	if !ok {
		on = &screen{w: w}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(gone)
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for n := 0; ; n++ {
			select {
			case <-timer.C:
				on.draw(picture(n, time.Since(begin)))
				timer.Reset(tick)
			case <-done:
				on.clear()
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// progressLine is the bar's n-th picture: a block that moves to and fro, for how much is still to come is not known.
func progressLine(n int, elapsed time.Duration, status string) string {
	const block = 6
	at := n % (2 * (progressWidth - block))
	if at > progressWidth-block {
		at = 2*(progressWidth-block) - at
	}
	bar := strings.Repeat(" ", at) + strings.Repeat("=", block) + strings.Repeat(" ", progressWidth-block-at)
	return fmt.Sprintf("[%s] %s %s", bar, elapsed.Truncate(time.Second), status)
}

// barLine is a bar of done out of all.
func barLine(done, all int, status string) string {
	filled := progressWidth
	if all > 0 {
		filled = done * progressWidth / all
	}
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", progressWidth-filled) + "] " + status
}
