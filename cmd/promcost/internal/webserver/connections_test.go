package webserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
)

// serveFew serves with at most 8 connections. /wait answers once the test lets it; anything else once its body was read.
func serveFew(t *testing.T, budget *memory.Budget) (address string, begun, release chan struct{}) {
	t.Helper()
	begun, release = make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewUnstartedServer(nil)
	server.Config = webserver.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			begun <- struct{}{}
			<-release
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, n, err)
	}), webserver.NewConnections(8, budget))
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), begun, release
}

// dial opens a connection and sends a text.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, text) // it may be closed by now
	return conn
}

// healthy asks for the health by a connection of its own.
func healthy(t *testing.T, address string) {
	t.Helper()
	conn := dial(t, address, "GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("health: %s", resp.Status)
	}
}

// ended waits until so many of the connections are closed, whatever they answer before.
func ended(t *testing.T, conns []net.Conn, least int) {
	t.Helper()
	closed := make(chan struct{}, len(conns))
	for _, conn := range conns {
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			closed <- struct{}{}
		}()
	}
	for i := range least {
		select {
		case <-closed:
		case <-time.After(10 * time.Minute):
			t.Fatalf("%d of %d connections are closed, want %d", i, len(conns), least)
		}
	}
}

// TestConnectionsAreBounded closes connections that wait for their clients where they are too many, and hears new ones.
func TestConnectionsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"silent":       "",
		"idle":         "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"slow headers": "GET / HTTP/1.1\r\nHo",
		"slow bodies":  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\na",
		"slow chunks":  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			address, _, _ := serveFew(t, memory.New(0))
			var conns []net.Conn
			for range 30 {
				conns = append(conns, dial(t, address, text))
			}
			healthy(t, address)
			ended(t, conns, 30-8)
			healthy(t, address)
		})
	}
}

// TestRequestsAreBounded refuses requests while many are being answered, but not those for the health, and ends none of them.
func TestRequestsAreBounded(t *testing.T) {
	address, begun, release := serveFew(t, memory.New(0))
	const request = "GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	var waiting []net.Conn
	for range 4 {
		waiting = append(waiting, dial(t, address, request))
		<-begun
	}
	var idle []net.Conn
	for range 20 {
		idle = append(idle, dial(t, address, ""))
	}
	healthy(t, address)
	ended(t, idle, 20-8)
	resp, err := http.ReadResponse(bufio.NewReader(dial(t, address, request)), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "ask again later") {
		t.Errorf("one more request: %s %s %v", resp.Status, text, err)
	}
	close(release)
	for _, conn := range waiting {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("a request that was being answered: %s", resp.Status)
		}
	}
	healthy(t, address)
}

// TestBodiesDrawMemory refuses bodies for which there is no memory.
func TestBodiesDrawMemory(t *testing.T) {
	address, _, _ := serveFew(t, memory.New(1<<20))
	for size, want := range map[int]int{1000: 200, 600_000: 503} {
		resp, err := http.Post("http://"+address+"/", "text/plain", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a body of %d bytes: %s, want %d", size, resp.Status, want)
		}
	}
}

// TestSlowBodiesTakeNothing answers requests while more bodies come slowly than requests may be answered, and gives them no more
// memory than they have sent.
func TestSlowBodiesTakeNothing(t *testing.T) {
	for name, tt := range map[string]struct{ header, body string }{
		"slow bodies":  {"Content-Length: 1000000", "a"},
		"slow chunks":  {"Transfer-Encoding: chunked", "1\r\na\r\n"},
		"large bodies": {"Content-Length: 1000000", strings.Repeat("a", 900_000)},
	} {
		t.Run(name, func(t *testing.T) {
			address, _, _ := serveFew(t, memory.New(8<<20))
			for range 4 {
				conn := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"+tt.header+"\r\n\r\n")
				if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "100 Continue") { // it is being read
					t.Fatal(line, err)
				}
				_, _ = io.WriteString(conn, tt.body) // it may be refused by now
			}
			resp, err := http.Post("http://"+address+"/", "text/plain", strings.NewReader(strings.Repeat("x", 1000)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || string(body) != "1000 <nil>\n" {
				t.Errorf("%s %s %v", resp.Status, body, err)
			}
		})
	}
}
