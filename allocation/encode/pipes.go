package encode

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// So many functions of one writer run, or wait for those before them to be written, for each processor and at most: others want
// processors and memory, too.
const (
	pipesEach = 2
	mostPipes = 8
)

// pipes write what functions append to buffers on goroutines of their own, in the order in which they were started. After an
// error they write nothing more. They are used by one goroutine.
type pipes struct {
	w    io.Writer
	size int // bytes that what they append mostly fits in
	err  error
	busy []chan appended // oldest first
	free [][]byte
}

// appended is what became of a function.
type appended struct {
	b        []byte
	panicked any
}

// start runs a function. It waits for the oldest one if there are as many as there may be.
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

// finish writes what the oldest function appended.
func (l *pipes) finish() {
	made := <-l.busy[0]
	l.busy = l.busy[1:]
	if made.panicked != nil {
		panic(made.panicked)
	}
	l.write(made.b)
	l.free = append(l.free, made.b[:0])
}

// drain writes what all functions append.
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

// buffer is an empty buffer, used before if there is one.
func (l *pipes) buffer() []byte {
	last := len(l.free) - 1
	if last < 0 {
		return make([]byte, 0, l.size)
	}
	b := l.free[last]
	l.free = l.free[:last]
	return b
}
