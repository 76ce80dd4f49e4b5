package bucket_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/cmd/promcost/internal/bucket"
)

// TestOpen checks which files open an object store, and that the errors of others name the file and none of its secrets.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, text, want string }{
		{name: "a directory", text: "type: filesystem\nprefix: costs\nconfig: {directory: " + dir + "}"},
		{name: "no YAML", text: "type: [sesame", want: "give type, config and prefix"},
		{name: "an unknown key", text: "typ: sesame", want: "give type, config and prefix"},
		{name: "an unknown type", text: "type: tape", want: `type "tape" is not known: use S3, GCS, AZURE or FILESYSTEM`},
		{name: "S3 without a bucket", text: "type: S3\nconfig: {secret_key: sesame}", want: "open the object store"},
		{name: "GCS without a bucket", text: "type: GCS\nconfig: {service_account: sesame}", want: "open the object store"},
		{name: "Azure without a container", text: "type: AZURE\nconfig: {storage_account_key: sesame}", want: "open the object store"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "store.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := bucket.Open("--storage.config", file, log.NewNopLogger())
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "sesame")):
				t.Errorf("got %v, want %q and the name of the file", err, tt.want)
			}
		})
	}
	if _, err := bucket.Open("--storage.config", filepath.Join(dir, "missing"), log.NewNopLogger()); err == nil || !strings.Contains(err.Error(), "give a readable YAML file") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestDirectory checks which stores are directories of files, in which not everything is a file.
func TestDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.yaml")
	for text, want := range map[string]string{
		"type: FILESYSTEM\nconfig: {directory: /srv/bills}":               "/srv/bills",
		"type: filesystem\nprefix: aws/2026\nconfig: {directory: bills/}": "bills/aws/2026",
		"type: S3\nprefix: aws\nconfig: {bucket: bills, directory: no}":   "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := bucket.Directory("--storage.config", file); err != nil || filepath.ToSlash(got) != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}
