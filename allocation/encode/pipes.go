package encode

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// One writer runs at most pipesEach functions a processor, and at most mostPipes, those that wait to be written included: other
// requests want processors and memory, too.
const (
	pipesEach = 2
	mostPipes = 8
)

// pipes run functions that append to buffers, each on a goroutine of its own, and write the buffers in the order in which the
// functions were started. After an error they write nothing more. One goroutine at a time may use them.
type pipes struct {
	w    io.Writer
	size int // bytes that what they append mostly fits in
	err  error
	busy []chan appended // oldest first
	free [][]byte
}

// appended is the result of a function.
type appended struct {
	b        []byte
	panicked any
}

// start runs a function. If the most functions run already, it waits for the oldest.
func (l *pipes) start(f func(b []byte) []byte) {
	if len(l.busy) >= min(pipesEach*runtime.GOMAXPROCS(0), mostPipes) {
		l.finish()
	}
	b, done := l.buffer(), make(chan appended, 1)
	l.busy = append(l.busy, done)
	go func() {
		var made appended
		defer func() {
			if p := recover(); p != nil { // whoever waits for it answers for it
				made.panicked = fmt.Sprintf("%v, on the goroutine of\n%s", p, debug.Stack())
			}
			done <- made
		}()
		made.b = f(b)
	}()
}

// finish waits for the oldest function and writes what it appended.
func (l *pipes) finish() {
	made := <-l.busy[0]
	l.busy = l.busy[1:]
	if made.panicked != nil {
		panic(made.panicked)
	}
	l.write(made.b)
	l.free = append(l.free, made.b[:0])
}

// drain waits for all functions and writes what they appended.
func (l *pipes) drain() {
	for len(l.busy) > 0 {
		l.finish()
	}
}

func (l *pipes) write(b []byte) {
	if l.err == nil && len(b) > 0 {
		_, l.err = l.w.Write(b)
	}
}

// buffer is an empty buffer, an old one if there is one.
func (l *pipes) buffer() []byte {
	last := len(l.free) - 1
	if last < 0 {
		return make([]byte, 0, l.size)
	}
	b := l.free[last]
	l.free = l.free[:last]
	return b
}
