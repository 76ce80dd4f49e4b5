//go:build unix

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestEnds tells the program to end while it waits for something that does not come. It ends all the same, within the time that requests may
// take to finish.
func TestEnds(t *testing.T) {
	t.Parallel()
	blocks := writeSmallDemo(t)
	silent := listenSilently(t)
	server := "--prometheus.url=http://" + silent
	var waiting []*waitingProcess
	for _, tt := range []struct {
		name string
		// make makes what the program needs below a directory, and returns its arguments. There is a pipe, too, which nobody writes to.
		make func(t *testing.T, dir string) []string
		// after, if not nil, is done once the program listens.
		after func(t *testing.T, dir string, cmd *exec.Cmd)
	}{
		{"config", func(_ *testing.T, dir string) []string {
			return []string{"serve", server, "--storage.path=" + dir, "--config.file=" + fifo(dir)}
		}, nil},
		{"prices", func(_ *testing.T, dir string) []string {
			return []string{"serve", server, "--storage.path=" + dir, "--pricing.file=" + fifo(dir)}
		}, nil},
		{"web config", func(_ *testing.T, dir string) []string {
			return []string{"serve", server, "--storage.path=" + dir, "--web.config.file=" + fifo(dir)}
		}, nil},
		{"object store's config", func(_ *testing.T, dir string) []string {
			return []string{"serve", server, "--storage.config=" + fifo(dir)}
		}, nil},
		{"HTTP config", func(_ *testing.T, dir string) []string {
			return []string{"serve", server, "--storage.path=" + dir, "--prometheus.http-config=" + fifo(dir)}
		}, nil},
		{"prices that the config names", func(t *testing.T, dir string) []string {
			config := filepath.Join(dir, "config.yaml")
			writeFileText(t, config, "prices: {file: fifo}\n")
			return []string{"check", "config", "--config.file=" + config}
		}, nil},
		{"config that is read again", func(t *testing.T, dir string) []string {
			config := filepath.Join(dir, "config.yaml")
			writeFileText(t, config, "currency: EUR\n")
			return []string{"serve", server, "--storage.path=" + dir, "--config.file=" + config}
		}, func(t *testing.T, dir string, cmd *exec.Cmd) {
			t.Helper()
			if err := os.Rename(fifo(dir), filepath.Join(dir, "config.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}},
		{"Prometheus", func(_ *testing.T, dir string) []string { return []string{"serve", server, "--storage.path=" + dir} }, func(*testing.T, string, *exec.Cmd) {}},
		{"object store", func(t *testing.T, dir string) []string {
			config := filepath.Join(dir, "bucket.yaml")
			writeFileText(t, config, "type: S3\nconfig: {bucket: history, endpoint: '"+silent+"', insecure: true, region: x, access_key: a, secret_key: b}\n")
			return []string{"serve", "--source=blocks", "--tsdb.path=" + blocks, "--storage.config=" + config}
		}, func(*testing.T, string, *exec.Cmd) {}},
		{"standard input", func(*testing.T, string) []string { return []string{"filter", `namespace:"x"`} }, nil},
		{"standard output", func(t *testing.T, dir string) []string {
			mustRun(t, "backfill", "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+dir, "--from=1d")
			return []string{"history", "export", "--storage.path=" + dir, "--format=csv"}
		}, nil},
	} {
		dir := t.TempDir()
		args := tt.make(t, dir)
		if err := syscall.Mkfifo(fifo(dir), 0o600); err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, startWaiting(t, tt.name, dir, args, tt.after))
	}
	time.Sleep(2 * time.Second) // they wait by then
	for _, p := range waiting {
		select {
		case <-p.ended:
			t.Errorf("%s: it does not wait: %s", p.name, p.err.String())
		default:
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	late := time.After(endTimeout + 10*time.Second)
	for _, p := range waiting {
		select {
		case <-p.ended:
		case <-late:
			t.Errorf("%s: it does not end: %s", p.name, p.err.String())
		}
	}
}

// fifo is the name of the pipe in a directory.
func fifo(dir string) string { return filepath.Join(dir, "fifo") }

// waitingProcess is a program that waits for something.
type waitingProcess struct {
	*exec.Cmd
	name  string
	err   lockedBuffer
	ended chan struct{} // closed when it has ended
}

// startWaiting starts the program.
func startWaiting(t *testing.T, name, dir string, args []string, after func(t *testing.T, dir string, cmd *exec.Cmd)) *waitingProcess {
	t.Helper()
	if args[0] == "serve" {
		args = append(args, "--web.listen-address=127.0.0.1:0")
	}
	p := &waitingProcess{Cmd: exec.CommandContext(t.Context(), os.Args[0], args...), name: name, ended: make(chan struct{})}
	p.Env, p.Stderr = append(os.Environ(), asProgram+"=1"), &p.err
	stdin, inErr := p.StdinPipe()
	stdout, outErr := p.StdoutPipe()
	if err := errors.Join(inErr, outErr, p.Start()); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = p.Process.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		<-p.ended
		_, _ = stdin.Close(), stdout.Close()
	})
	if after != nil {
		eventually(t, "it does not listen", func() bool { return listening.MatchString(p.err.String()) })
		after(t, dir, p.Cmd)
	}
	return p
}

// listenSilently returns the address of a server that takes connections and says nothing.
func listenSilently(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn) //nolint:errcheck // until it is closed
		}
	}()
	return l.Addr().String()
}

// writeFileText writes a file.
func writeFileText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
