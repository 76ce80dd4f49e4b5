package promtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout is how long a server may take to become ready.
	startTimeout = 10 * time.Minute
	// attempts is how often a start is tried: another process may take a free port first.
	attempts = 3
)

// findBinary returns the path of a server's binary: the value of the variable, or else bin/<file> at the root of the repository.
// It is an error if there is none.
func findBinary(variable, file string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		root, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("find working directory: %w", err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if root == filepath.Dir(root) {
				return "", errors.New("find repository root: no go.mod above the working directory")
			}
			root = filepath.Dir(root)
		}
		path = filepath.Join(root, "bin", file)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find %s: %w; run `make bin/%s`, or name a binary by %s", file, err, file, variable)
	}
	return path, nil
}

// needBinary is findBinary for what a test cannot do without.
func needBinary(t testing.TB, variable, file string) string {
	t.Helper()
	path, err := findBinary(variable, file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a server to start.
type process struct {
	name, binary string
	ready        string                       // path that answers 200 once the server is ready
	ports        int                          // how many addresses it listens on; 0 is one
	args         func(addr []string) []string // its arguments, given these addresses
	started      func(pid int)                // gets its process id once it is ready; may be nil
	env          func(addr []string) []string // further environment variables, as name=value; nil: none
	tls          bool                         // it is asked by https whether it is ready, whatever its certificate
}

// run starts a server on free loopback ports, waits until it is ready, and stops it when the test ends. It returns the
// URLs of its addresses, of which the first is asked whether it is ready.
func run(t testing.TB, p process) (urls []string) {
	t.Helper()
	var err error
	for range attempts {
		if urls, err = start(t, p); err == nil {
			return urls
		}
	}
	t.Fatalf("start %s: %v", p.name, err)
	return nil
}

// start runs the server once and waits until it is ready.
func start(t testing.TB, p process) (urls []string, err error) {
	t.Helper()
	var addrs []string
	for range max(1, p.ports) {
		addr, err := reservedAddr(t)
		if err != nil {
			return nil, err
		}
		scheme := "http://"
		if p.tls {
			scheme = "https://"
		}
		addrs, urls = append(addrs, addr), append(urls, scheme+addr)
	}
	cmd := exec.Command(p.binary, p.args(addrs)...) //nolint:noctx // ended by the clean-up below, gracefully first
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Dir = t.TempDir() // some servers leave files in it
	if p.env != nil {
		cmd.Env = append(os.Environ(), p.env(addrs)...)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", p.binary, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // a server that ends early says why in its output
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has exited
		select {
		case <-exited: // however it ended
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
	}
	if err := waitReady(urls[0]+p.ready, exited); err != nil {
		stop()
		return nil, fmt.Errorf("%w; its output:\n%s", err, output.String())
	}
	t.Cleanup(stop)
	if p.started != nil {
		p.started(cmd.Process.Pid)
	}
	return urls, nil
}

// errExited says that the server ended before it was ready.
var errExited = errors.New("it exited")

// waitReady polls url until it answers 200.
func waitReady(url string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		code, _, err := exchange(ctx, http.MethodGet, url, nil, nil)
		if err == nil && code == http.StatusOK {
			return nil
		}
		select {
		case <-exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", url, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// trusting is a client of servers on loopback, some of which sign their certificates themselves.
var trusting = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// exchange sends a request and returns the status and text of its answer; an error status is an error too.
func exchange(ctx context.Context, method, url string, body []byte, header map[string]string) (code int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := trusting.Do(req)
	if err != nil {
		return 0, nil, err
	}
	text, err = io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, text)
	}
	return resp.StatusCode, text, err
}

// reservedAddr returns a loopback address nobody listens on, and which no other test on this machine takes meanwhile: between being found
// and being listened on, two servers could have the same, and one test would ask the other's.
func reservedAddr(t testing.TB) (string, error) {
	const longest = 3 * time.Hour // that a test lasts: what is older was left behind
	for {
		addr, err := freeAddr()
		if err != nil {
			return "", err
		}
		name := filepath.Join(os.TempDir(), "promcost-test-port-"+port(addr))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			if of, err := os.Stat(name); err == nil && time.Since(of.ModTime()) > longest {
				_ = os.Remove(name) // an error shows when it is made again
			}
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reserve port: %w", err)
		}
		t.Cleanup(func() { _ = os.Remove(name) })
		return addr, file.Close()
	}
}

// Ports below those that systems give to whoever asks for any, as the servers within tests do: none of these can take one before the process
// for which it was found.
const firstPort, endOfPorts = 10_240, 32_768

// freeAddr returns a loopback address nobody listens on.
func freeAddr() (string, error) {
	const tries = 1000
	var l net.Listener
	var err error
	for range tries {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.N(endOfPorts-firstPort)))
		if l, err = new(net.ListenConfig).Listen(context.Background(), "tcp", at); err == nil {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("free port: %w", err)
	}
	return addr, nil
}
