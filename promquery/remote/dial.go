package remote

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"
)

// readAhead is how much of an answer is read from the network at once, if it has arrived. A client of net/http reads 4 kB, which
// is a part of a series, and Prometheus flushes an answer after each series.
const readAhead = 64 << 10

// Dial connects like a net.Dialer. The connection reads ahead. Clients that read streams of samples should use it.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &aheadConn{Conn: c, r: bufio.NewReaderSize(c, readAhead)}, nil
}

// defaultClient is http.DefaultClient with connections by Dial.
func defaultClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = Dial
	return &http.Client{Transport: t}
}

// aheadConn is a connection that reads through r.
type aheadConn struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (c *aheadConn) Read(p []byte) (int, error) { return c.r.Read(p) }
