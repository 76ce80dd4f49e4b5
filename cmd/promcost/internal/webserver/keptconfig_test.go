package webserver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
)

// TestKeptConfig changes the file of a web configuration: the copy is of the last one that holds, with names of files that are found from
// anywhere.
func TestKeptConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first = "http_server_config: {headers: {X-Frame-Options: deny}}\n"
	write(first)
	k, err := webserver.OpenKept(file, log.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, says string }{
		{"", "it is empty"},
		{"tls_server_config: {cert_file: a.crt, key_file: a.key}\n", filepath.Join(filepath.Dir(file), "a.crt")},
		{"http_server_config: {headers: {X-Frame-Options: sameorigin}}\n", ""},
	} {
		write(tt.text)
		err := k.Look()
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.says)
		}
		text, readErr := os.ReadFile(k.Name())
		if readErr != nil || strings.Contains(string(text), "deny") != (err != nil) || (k.Problem() == nil) != (err == nil) {
			t.Errorf("%q: the copy is %q, %v; the problem %v", tt.text, text, readErr, k.Problem())
		}
	}
	if err := os.RemoveAll(filepath.Dir(k.Name())); err != nil {
		t.Fatal(err)
	}
	lookErr := k.Look()
	if text, err := os.ReadFile(k.Name()); lookErr != nil || err != nil || !strings.Contains(string(text), "sameorigin") {
		t.Errorf("after the temporary directory was cleaned: %v; the copy is %q, %v", lookErr, text, err)
	}
	dir := filepath.Dir(k.Name())
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := k.Look(); err == nil || !strings.Contains(err.Error(), "make the directory of its copy again") {
		t.Errorf("another directory in its place is written to: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(k.Name())); !os.IsNotExist(err) {
		t.Errorf("the copy is left: %v", err)
	}
}
