package promtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// podNetwork is the network of pods and Services as the API sees it, an HTTP proxy: the addresses of pods that kwok makes up lead
// nowhere, and the API connects to none on loopback by itself.
type podNetwork struct {
	mu     sync.Mutex
	routes map[string]string
}

// egress is the configuration by which an API server uses a network at a socket.
const egress = `
apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections: [{name: cluster, connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %q}}}}]
`

// start serves the network at a socket until the test ends.
func (n *podNetwork) start(t testing.TB) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pods") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "network")
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: n}} //nolint:gosec // the API server is its only client
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return socket
}

// ServeHTTP connects a client with an address, or with where that leads.
func (n *podNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	address, ok := n.routes[r.Host]
	n.mu.Unlock()
	if !ok {
		address = r.Host
	}
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	there, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	pipe := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // it ends when either side does
		cancel()
	}
	go pipe(there, buffered)
	go pipe(here, there)
	<-ctx.Done()
}

// Route leads the API to a server on this machine, by its URL, where it connects to the address of a pod or of a Service, such
// as 10.9.0.1:9003.
func (k *Kubernetes) Route(address, server string) {
	_, server, _ = strings.Cut(server, "://")
	k.network.mu.Lock()
	defer k.network.mu.Unlock()
	k.network.routes[address] = server
}
