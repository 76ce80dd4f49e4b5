package remote

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// bufferBytes is how much of an answer is read from the network at once, if it has arrived. A client of net/http reads 4 kB, which
// is a part of a series, and Prometheus flushes an answer after each series.
const bufferBytes = 128 << 10

// Dial connects like a net.Dialer. The connection is buffered. While a lot of data comes, it reads much at a time, so some data may be
// read a few milliseconds after they have come. Clients that read streams of samples should use it.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &bufferedConn{Conn: c, r: bufio.NewReaderSize(newPatient(c), bufferBytes)}, nil
}

// defaultClient is http.DefaultClient with connections by Dial.
func defaultClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = Dial
	return &http.Client{Transport: t}
}

// bufferedConn is a connection that reads through r.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Once several reads have got much, the kernel is asked to wake the reader only when atOnce has come, or when no more has come within
// patience: an answer may end before that, and its connection stays open. A server writes a series at a time, and sends it more slowly
// than promcost reads. A reader that takes whatever has come is woken after every few series, and the waking takes more processor time
// than the decoding.
const (
	steady   = 16              // so many reads in a row are to get much
	much     = 1 << 10         // bytes of a read
	atOnce   = bufferBytes / 2 // so that the server goes on sending while it is read
	patience = 5 * time.Millisecond
)

// patient reads from a connection much at a time. One goroutine reads at a time.
type patient struct {
	r     io.Reader
	least func(bytes int) // sets how much has to have come for a reader to be woken
	hurry *time.Timer     // ends a wait
	row   int             // reads that got much
	waits bool            // least is atOnce
}

// newPatient returns a patient reader of c, or c where the kernel always wakes readers at once.
func newPatient(c net.Conn) io.Reader {
	p := &patient{r: c, least: wakeAfter(c)}
	if p.least == nil {
		return c
	}
	p.hurry = time.AfterFunc(patience, func() { p.least(1) })
	p.hurry.Stop()
	return p
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	if p.row >= steady {
		if !p.waits {
			p.waits = true
			p.least(atOnce)
		}
		p.hurry.Reset(patience)
	}
	n, err := p.r.Read(b)
	late := p.waits && !p.hurry.Stop()
	switch {
	case late:
		p.row, p.waits = 0, false
	case n >= much:
		p.row++
	default:
		p.row = 0
	}
	if p.row == 0 && p.waits {
		p.waits = false
		p.least(1)
	}
	return n, err
}
