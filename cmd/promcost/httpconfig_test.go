package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/promquery/remote"
)

// guarded is a Prometheus that answers those whom allowed lets in, and has tokens for the client "promcost".
func guarded(allowed func(r *http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch id, secret, _ := r.BasicAuth(); {
		case r.URL.Path == "/token" && r.FormValue("client_id") == "promcost" && r.FormValue("client_secret") == "sesame",
			r.URL.Path == "/token" && id == "promcost" && secret == "sesame":
			_, _ = fmt.Fprint(w, `{"access_token":"fresh","token_type":"Bearer","expires_in":3600}`)
		case r.URL.Path == "/token" || !allowed(r):
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`)
		}
	})
}

// header lets those in that send a header's value.
func header(name, value string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) == value }
}

// signed lets those in whose requests are signed by a key for a region and a service, as AWS checks it (Signature Version 4).
func signed(id, secret, scope string) func(*http.Request) bool {
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	sum := func(text []byte) string {
		s := sha256.Sum256(text)
		return hex.EncodeToString(s[:])
	}
	return func(r *http.Request) bool {
		day, _, _ := strings.Cut(r.Header.Get("X-Amz-Date"), "T")
		scope := day + "/" + scope + "/aws4_request"
		credential, rest, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ", SignedHeaders=")
		names, signature, found := strings.Cut(rest, ", Signature=")
		if !ok || !found || credential != "Credential="+id+"/"+scope {
			return false
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return false
		}
		lines := []string{r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")}
		for name := range strings.SplitSeq(names, ";") {
			value := r.Header.Get(name)
			switch name {
			case "host":
				value = r.Host
			case "content-length":
				value = strconv.FormatInt(r.ContentLength, 10)
			}
			lines = append(lines, name+":"+value)
		}
		request := strings.Join(append(lines, "", names, sum(body)), "\n")
		key := []byte("AWS4" + secret)
		for part := range strings.SplitSeq(scope, "/") {
			key = mac(key, part)
		}
		return signature == hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+sum([]byte(request))))
	}
}

// reach asks the server at url what it can, with a file of HTTP configuration.
func reach(t *testing.T, url, config string) error {
	t.Helper()
	f := &sourceFlags{kind: sourceQuery, prometheus: serverFlag{name: prometheusURL, url: url}, dedup: asServer, partial: asServer}
	if config != "" {
		f.httpConfig = filepath.Join(t.TempDir(), "http.yml")
		if err := os.WriteFile(f.httpConfig, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	mode, err := o.server.(*remote.Source).Mode(t.Context())
	if err == nil && mode != remote.ModeQuery {
		t.Errorf("mode %q", mode)
	}
	return err
}

// TestHTTPConfig lets a server in on each kind of credentials, and is refused without them.
func TestHTTPConfig(t *testing.T) {
	for _, tt := range []struct {
		name, config string // URL is the server's
		allowed      func(*http.Request) bool
	}{
		{"basic", "basic_auth: {username: ann, password: sesame}", func(r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			return user == "ann" && password == "sesame"
		}},
		{"bearer", "authorization: {credentials: open}", header("Authorization", "Bearer open")},
		{"OAuth2", "oauth2: {client_id: promcost, client_secret: sesame, token_url: URL/token}", header("Authorization", "Bearer fresh")},
		{"tenant", "http_headers: {X-Scope-OrgID: {values: [shop]}}", header("X-Scope-OrgID", "shop")},
		{"SigV4", "sigv4: {region: eu-west-1, access_key: AKID, secret_key: sesame}", signed("AKID", "sesame", "eu-west-1/aps")},
		{"SigV4 of another service", "sigv4: {region: eu-west-1, service_name: es, access_key: AKID, secret_key: sesame}", signed("AKID", "sesame", "eu-west-1/es")},
		{"custom headers", "http_headers: {X-One: {values: [a]}, X-Two: {secrets: [b]}}", func(r *http.Request) bool {
			return r.Header.Get("X-One") == "a" && r.Header.Get("X-Two") == "b"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(guarded(tt.allowed))
			t.Cleanup(server.Close)
			if err := reach(t, server.URL, strings.ReplaceAll(tt.config, "URL", server.URL)); err != nil {
				t.Error(err)
			}
			if err := reach(t, server.URL, ""); err == nil || !strings.Contains(err.Error(), "--prometheus.http-config") {
				t.Errorf("without credentials: %v, want an error that names the flag", err)
			}
		})
	}
}

// writeCertificate writes the certificate of a server, which it signed itself, and its key.
func writeCertificate(t *testing.T, server *httptest.Server, certFile, keyFile string) {
	t.Helper()
	own := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: own.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMutualTLS reaches a server that wants a client's certificate, and not without one, nor without its authority's.
func TestMutualTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(guarded(func(r *http.Request) bool { return len(r.TLS.PeerCertificates) == 1 }))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	writeCertificate(t, server, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	ca, pair := "ca_file: "+dir+"/cert.pem", "cert_file: "+dir+"/cert.pem, key_file: "+dir+"/key.pem"
	for _, tt := range []struct{ name, config, want string }{
		{"both", "tls_config: {" + ca + ", " + pair + "}", ""},
		{"no certificate of the client", "tls_config: {" + ca + "}", "certificate required"},
		{"unknown authority", "tls_config: {" + pair + "}", "certificate signed by unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := reach(t, server.URL, tt.config)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestRecipes reads the files for hosted stores that MIGRATING.md gives.
func TestRecipes(t *testing.T) {
	page, err := os.ReadFile("../../MIGRATING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### By the query API only")
	found := 0
	for part := range strings.SplitSeq(section, "\n\n") {
		if !strings.HasPrefix(part, "    # ") {
			continue
		}
		found++
		file := filepath.Join(t.TempDir(), "http-config.yaml")
		if err := os.WriteFile(file, []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := httpclient.ReadConfig("--prometheus.http-config", file); err != nil {
			t.Errorf("%v in\n%s", err, part)
		}
	}
	if found != 4 {
		t.Errorf("%d recipes, want 4", found)
	}
}
