package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWebConfigIsKept damages the web configuration of a process that serves. What was in use stays, authentication and TLS with it, and it
// says so at a reload, in the log and at /-/ready, until the file holds again.
func TestWebConfigIsKept(t *testing.T) {
	t.Parallel()
	const password, hash = "secret", "$2a$04$iMrFF0AWQlJ4IAeh.BxcUOMs3LcfsPPEsUBxL45HXrWpEV4x0AA9a"
	users := func(name string) string { return "basic_auth_users: {" + name + ": '" + hash + "'}\n" }
	const withTLS = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	writeCertificate(t, certified, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	write(withTLS + users("anne"))
	p := runDaemon(t, "serve", "--web.enable-lifecycle", "--source=none", "--storage.path="+t.TempDir(), "--web.config.file="+file)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // the certificate is made up
	ask := func(method, path, user string) (code int, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.Replace(p.url, "http:", "https:", 1)+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			req.SetBasicAuth(user, password)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer resp.Body.Close()
		var b strings.Builder
		if err := resp.Write(&b); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, b.String()
	}
	kept := func(t *testing.T, says string) {
		t.Helper()
		if code, body := ask(http.MethodPost, "/-/reload", "anne"); code != http.StatusInternalServerError || !strings.Contains(body, says) || !strings.Contains(body, "stays in use") {
			t.Errorf("reload: %d %s", code, body)
		}
		if code, _ := ask(http.MethodGet, "/-/healthy", ""); code != http.StatusUnauthorized {
			t.Errorf("without a password: %d", code)
		}
		if _, body := ask(http.MethodGet, "/-/ready", "anne"); !strings.Contains(body, says) || !strings.Contains(body, "stays in use") {
			t.Errorf("/-/ready: %s", body)
		}
		if !strings.Contains(p.err.String(), says) {
			t.Errorf("the log lacks %q", says)
		}
		if resp, err := http.Get(p.url + "/-/healthy"); err == nil { // the server's answer to HTTP on TLS
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("without TLS: %s", resp.Status)
			}
		}
	}
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "it is empty"},
		{"blank", " \n\n", "it is empty"},
		{"blank with tabs", " \n\t\n", "web configuration"},
		{"comments", "# nothing\n", "it is empty"},
		{"null", "---\n", "it is empty"},
		{"cut before users", withTLS, "it has no basic_auth_users any more"},
		{"cut before TLS", users("anne"), "it has no tls_server_config any more"},
		{"empty users", withTLS + "basic_auth_users: {}\n", "it has no basic_auth_users any more"},
		{"cut within a line", withTLS + "basic_auth_users: {anne: '$2y$10", "web configuration"},
		{"cut within a hash", withTLS + "basic_auth_users: {anne: '$2y$10'}", "hash"},
		{"unknown key", withTLS + users("anne") + "user: x\n", "user"},
		{"certificate that is not there", "tls_server_config: {cert_file: nope.crt, key_file: tls.key}\n" + users("anne"), "nope.crt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(tt.text)
			kept(t, tt.says)
		})
	}
	t.Run("gone", func(t *testing.T) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		kept(t, "no such file")
	})
	write(withTLS + users("bert"))
	eventually(t, "another user is not let in", func() bool { code, _ := ask(http.MethodGet, "/-/healthy", "bert"); return code == http.StatusOK })
	if code, body := ask(http.MethodPost, "/-/reload", "bert"); code != http.StatusOK {
		t.Errorf("reload of a file that holds again: %d %s", code, body)
	}
	if _, body := ask(http.MethodGet, "/-/ready", "bert"); strings.Contains(body, "web configuration") {
		t.Errorf("/-/ready goes on: %s", body)
	}
	if code, _ := ask(http.MethodGet, "/-/healthy", "anne"); code != http.StatusUnauthorized {
		t.Errorf("the user of before: %d", code)
	}
}
