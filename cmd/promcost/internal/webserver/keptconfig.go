package webserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
)

// lookEvery is how often the file of a KeptConfig is looked at.
const lookEvery = time.Second

// KeptConfig is a web configuration as exporter-toolkit has it, which stays in use when its file becomes one that does not hold: the toolkit
// reads the file at each request, and a file that was emptied would let everybody in. It is safe for concurrent use.
type KeptConfig struct {
	file   string
	copy   string // of what is in use
	logger log.Logger
	dir    *os.File // of the copy: while it is open, no other directory has its identity

	mu      sync.Mutex
	text    []byte // of the file, as it is in use
	used    web.Config
	problem error // why the file is not in use as it is, nil if it is
}

// OpenKept reads the web configuration of a file, and keeps a copy of it in a temporary directory until Close.
func OpenKept(file string, logger log.Logger) (*KeptConfig, error) {
	const pattern = "promcost-web-"
	dir, err := os.MkdirTemp("", pattern)
	if err != nil { // as in a container whose root is read-only
		dir, err = os.MkdirTemp("/dev/shm", pattern)
	}
	if err != nil {
		return nil, fmt.Errorf("keep a copy of the web configuration: %w: give a directory that can be written to with TMPDIR", err)
	}
	k := &KeptConfig{file: file, copy: filepath.Join(dir, filepath.Base(file)), logger: logger}
	if k.dir, err = os.Open(dir); err == nil {
		err = k.take()
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// Name is the name of the copy that is in use.
func (k *KeptConfig) Name() string { return k.copy }

// Close removes the copy.
func (k *KeptConfig) Close() error {
	return errors.Join(k.dir.Close(), os.RemoveAll(filepath.Dir(k.copy)))
}

// Run looks at the file now and then until ctx ends. It returns nil.
func (k *KeptConfig) Run(ctx context.Context) error {
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
			_ = k.Look() // it has logged what is wrong
		}
	}
}

// Look takes what the file has by now. If that does not hold, what was in use stays, and the error says so.
func (k *KeptConfig) Look() error {
	err := k.take()
	if err != nil {
		err = fmt.Errorf("web configuration %s: %w: the one of before stays in use. Mend the file, or restart promcost with it", k.file, err)
	}
	k.mu.Lock()
	was := k.problem
	k.problem = err
	k.mu.Unlock()
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		level.Error(k.logger).Log("msg", "The web configuration is not taken", "err", err)
	case err == nil && was != nil:
		level.Info(k.logger).Log("msg", "The web configuration holds again", "file", k.file)
	}
	return err
}

// Problem is why the file is not in use as it was when it was last looked at, nil if it is.
func (k *KeptConfig) Problem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

// take makes the file's text the copy, if it holds.
func (k *KeptConfig) take() error {
	text, err := os.ReadFile(k.file)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text != nil && bytes.Equal(text, k.text) && k.copied() {
		return nil
	}
	next, resolved, err := parseWebConfig(text, filepath.Dir(k.file))
	if err != nil {
		return err
	}
	if err := k.drops(&next, len(resolved) == 0); err != nil {
		return err
	}
	candidate := k.copy + ".next"
	if err := k.ownDir(); err != nil {
		return err
	}
	if err := os.WriteFile(candidate, resolved, 0o600); err != nil {
		return err
	}
	if err := web.Validate(candidate); err != nil {
		return err
	}
	if err := os.Rename(candidate, k.copy); err != nil {
		return err
	}
	k.text, k.used = text, next
	return nil
}

// copied reports whether the copy is there. It makes it and its directory look new, for what is old in temporary directories is removed.
func (k *KeptConfig) copied() bool {
	now := time.Now()
	return os.Chtimes(filepath.Dir(k.copy), now, now) == nil && os.Chtimes(k.copy, now, now) == nil
}

// ownDir makes the directory of the copy again if it was removed. One that somebody else put in its place is not written to.
func (k *KeptConfig) ownDir() error {
	name := filepath.Dir(k.copy)
	made, err := k.dir.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(name); err == nil && os.SameFile(made, now) {
		return nil
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		return fmt.Errorf("make the directory of its copy again: %w", err)
	}
	again, err := os.Open(name)
	if err != nil {
		return err
	}
	err = k.dir.Close()
	k.dir = again
	return err
}

// drops says what protection the next configuration lacks that the one in use has, nil for none. Only a restart gives it up.
func (k *KeptConfig) drops(next *web.Config, empty bool) error {
	asks := func(c *web.Config) bool {
		return c.TLSConfig.ClientAuth != "" && c.TLSConfig.ClientAuth != "NoClientCert"
	}
	switch {
	case k.text == nil:
		return nil
	case empty:
		return errors.New("it is empty")
	case len(k.used.Users) > 0 && len(next.Users) == 0:
		return errors.New("it has no basic_auth_users any more")
	case k.used.TLSConfig.IsEnabled() && !next.TLSConfig.IsEnabled():
		return errors.New("it has no tls_server_config any more")
	case asks(&k.used) && !asks(next):
		return errors.New("it asks for no client certificates any more")
	}
	return nil
}

// parseWebConfig parses a web configuration, and returns it as text, too, whose names of files no longer depend on where it is: empty if
// there is nothing in it.
func parseWebConfig(text []byte, dir string) (c web.Config, resolved []byte, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return c, nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return c, nil, err
	}
	if err := doc.Decode(&c); err != nil || len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return c, nil, err
	}
	tls := findValue(doc.Content[0], "tls_server_config")
	for _, key := range []string{"cert_file", "key_file", "client_ca_file"} {
		if name := findValue(tls, key); name != nil && name.Value != "" && !filepath.IsAbs(name.Value) {
			*name = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: filepath.Join(dir, name.Value)}
		}
	}
	resolved, err = yaml.Marshal(&doc)
	return c, resolved, err
}

// findValue is the value of a key of a mapping, nil if there is none.
func findValue(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
