package webserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/promcost/promcost/allocation/memory"
)

const (
	// DefaultConnections is how many connections may be open at a time by default, as Prometheus has it.
	DefaultConnections = 512

	maxBodyBytes = 1 << 20 // that handlers read of a body

	// bodyShare is the part of the memory budget that bodies may take that have not come in whole, and leastBodies what it is at least.
	bodyShare   = 32
	leastBodies = 4 << 20
)

// Connections bounds what clients hold that send nothing, or too much at once. If more than most connections are open, it closes
// the one that has waited longest for its client: idle, or in the middle of a request. At most half as many requests are answered
// at a time, so there is always one that waits; health checks and metrics are answered in addition. A request counts once its body
// has come. So a new client is always served.
type Connections struct {
	most   int
	memory *memory.Budget // that bodies are drawn from
	bodies *memory.Budget // and while they come

	mu       sync.Mutex
	open     map[net.Conn]*connection
	changes  uint64 // that there were
	requests int    // that are being answered
}

// connection is the state of an open connection.
type connection struct {
	answering int    // requests that came in whole
	waits     uint64 // the change since which it waits
}

// NewConnections keeps at most most connections open. Bodies of requests are drawn from the budget.
func NewConnections(most int, budget *memory.Budget) *Connections {
	bodies := budget.Limit() / bodyShare
	if bodies > 0 {
		bodies = max(bodies, leastBodies)
	}
	return &Connections{most: most, memory: budget, bodies: memory.New(bodies), open: map[net.Conn]*connection{}}
}

type connectionKey struct{}

// guard has a server keep the bounds.
func (c *Connections) guard(srv *http.Server) {
	srv.ConnState = c.changed
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, conn)
	}
	srv.Handler = c.bounded(srv.Handler)
}

// changed records the state of a connection, and closes one if there are too many.
func (c *Connections) changed(conn net.Conn, state http.ConnState) {
	var victim net.Conn
	c.mu.Lock()
	c.changes++
	switch state {
	case http.StateNew:
		c.open[conn] = &connection{waits: c.changes}
		if len(c.open) > c.most {
			victim = c.longest()
		}
	case http.StateIdle:
		if of := c.open[conn]; of != nil {
			of.waits = c.changes
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateActive: // a byte of a request has come
	}
	c.mu.Unlock()
	if victim == nil {
		return
	}
	if secure, ok := victim.(interface{ NetConn() net.Conn }); ok {
		victim = secure.NetConn() // without a farewell, which might wait for the client, too
	}
	_ = victim.Close() // whatever is wrong with it, it goes
}

// longest is the connection that has waited longest for its client, which is taken out.
func (c *Connections) longest() (conn net.Conn) {
	for other, of := range c.open {
		if of.answering == 0 && (conn == nil || of.waits < c.open[conn].waits) {
			conn = other
		}
	}
	delete(c.open, conn)
	return conn
}

// bounded answers requests while they are not too many.
func (c *Connections) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, err := c.receive(r)
		defer release()
		if err != nil {
			Text(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		if !c.begin(r.URL.Path) {
			w.Header().Set("Retry-After", "1")
			Text(w, http.StatusServiceUnavailable, fmt.Sprintf("promcost answers %d requests at a time, and so many are being answered: ask again later, or raise --web.max-connections", c.most/2))
			return
		}
		defer c.end()
		conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
		c.answer(conn, 1)
		defer c.answer(conn, -1)
		next.ServeHTTP(w, r)
	})
}

// receive reads the part of a request's body that handlers may read, while its connection waits for its client. The handler gets
// the error of reading. release returns the memory of the body as text and parsed.
func (c *Connections) receive(r *http.Request) (release func(), err error) {
	if r.ContentLength == 0 {
		return func() {}, nil
	}
	of, coming := c.memory.Open("send fewer or shorter parameters"), c.bodies.Open("")
	defer coming.Close()
	var text []byte
	for len(text) <= maxBodyBytes && err == nil {
		if len(text) == cap(text) {
			grow := max(len(text), 4<<10)
			if err := of.Draw(2 * int64(grow)); err != nil {
				return of.Close, fmt.Errorf("read the body: %w", err)
			}
			if coming.Draw(int64(grow)) != nil {
				return of.Close, fmt.Errorf("read the body: bodies that come slowly take %s of memory now: send it again later", memory.Text(c.bodies.Limit()))
			}
			text = append(make([]byte, 0, len(text)+grow), text...)
		}
		var n int
		n, err = r.Body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	r.Body = &received{io.MultiReader(bytes.NewReader(text), r.Body), r.Body} // which repeats its error
	return of.Close, nil
}

// received is a body that has come, as far as handlers read it.
type received struct {
	io.Reader
	io.Closer
}

// answer counts requests that a connection waits for the answers of.
func (c *Connections) answer(conn net.Conn, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if of := c.open[conn]; of != nil {
		of.answering, of.waits = of.answering+n, c.changes
	}
}

// begin reports whether a request may be answered, and counts it.
func (c *Connections) begin(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	small := strings.HasSuffix(path, "/-/healthy") || strings.HasSuffix(path, "/-/ready") || strings.HasSuffix(path, "/metrics")
	if c.requests >= c.most/2 && !small {
		return false
	}
	c.requests++
	return true
}

// end counts a request that was answered.
func (c *Connections) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests--
}
