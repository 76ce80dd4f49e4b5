package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// asProgram makes the test binary be the program: how tests run promcost as a process of its own.
const asProgram = "PROMCOST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// spawn starts promcost as a process, which listens on a port that the kernel chooses, and returns its URL once it does.
func spawn(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--web.listen-address=127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-drained
		cmd.Wait() //nolint:errcheck // it was killed
	})
	select {
	case found := <-address:
		return "http://" + found
	case <-drained:
		t.Fatal("promcost ended before it listened")
	case <-time.After(patience):
		t.Fatal("promcost does not listen")
	}
	return ""
}

// writeTruth writes a demo and reads its exact costs.
func writeTruth(t *testing.T, flags ...string) (dir string, truth *democluster.Truth) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir}, flags...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	truth = &democluster.Truth{}
	if err := json.Unmarshal(text, truth); err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

// askFor asks promcost about a window and decodes what it answers.
func askFor(t *testing.T, url string, start, end time.Time, query string, reply any) {
	t.Helper()
	window := start.Format(time.RFC3339) + "," + end.Format(time.RFC3339)
	code, body := get(t, url+"?window="+url2(window)+"&"+query)
	if code != 200 {
		t.Fatalf("%s: %d %.500s", url, code, body)
	}
	if err := json.Unmarshal([]byte(body), reply); err != nil {
		t.Fatal(err)
	}
}
