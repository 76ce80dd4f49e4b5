package browser_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is a promcost that was started.
type process struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

var (
	servers   []*process
	serversMu sync.Mutex
)

// prefix is where the demo answers too.
const prefix = "/cost"

// demo is a promcost with the cluster of the demo, its history complete: of eight days, so that a week has half a baseline. All tests share it.
var demo = sync.OnceValues(func() (string, error) {
	return start("promcost is ready.", "demo", "--demo.end=2026-03-18T12:00:00Z", "--demo.duration=8d", "--web.route-prefix="+prefix, "--timezone=UTC")
})

// demoURL is where the demo answers, without a slash at its end.
func demoURL(t testing.TB) string {
	t.Helper()
	if skipped != "" {
		t.Skip(skipped)
	}
	at, err := demo()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// start starts promcost on a free port, and waits until it says that it is ready.
func start(ready string, args ...string) (string, error) {
	p := &process{cmd: exec.Command(binary, append(args, "--web.listen-address=127.0.0.1:0")...)}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := p.cmd.Start(); err != nil {
		return "", err
	}
	serversMu.Lock()
	servers = append(servers, p)
	serversMu.Unlock()
	address := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.log.WriteString(lines.Text() + "\n")
			if m := address.FindStringSubmatch(lines.Text()); m != nil && p.url == "" {
				p.url = "http://" + m[1]
				found <- p.url
			}
		}
		close(found)
	}()
	at, ok := <-found
	if !ok {
		return "", fmt.Errorf("promcost %s ended: %s", strings.Join(args, " "), p.log.String())
	}
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(at + "/-/ready")
		if err != nil {
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && strings.HasPrefix(string(text), ready) {
			return at, nil
		}
	}
	return "", fmt.Errorf("promcost %s is not ready: %s", strings.Join(args, " "), p.log.String())
}

func stopServers() {
	for _, p := range servers {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// proxy passes requests on to promcost, but those that a handler answers itself, for which it returns true. changed alters answers.
func proxy(t *testing.T, to string, handler func(w http.ResponseWriter, r *http.Request) bool, changed func(path, body string) string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if changed != nil {
			r.Out.Header.Set("Accept-Encoding", "identity")
		}
	}}
	if changed != nil {
		pass.ModifyResponse = func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text = []byte(changed(r.Request.URL.Path, string(text)))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler == nil || !handler(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// ask asks the API what the page asks it, and decodes the data of the answer.
func ask[T any](t testing.TB, at, path string, params url.Values) T {
	t.Helper()
	resp, err := http.Get(at + path + "?" + params.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data    T      `json:"data"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s?%s: %s %s %v", path, params.Encode(), resp.Status, answer.Message, err)
	}
	return answer.Data
}
