package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed index.html *.css *.js views uplot
var files embed.FS

// policy is the page's content security policy: everything is from this server, and nothing is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a file of the page, ready to be sent.
type file struct {
	kind         string // content type
	tag          string // entity tag of text
	text, packed []byte // packed is text with gzip
}

// Root is the path of the page.
const Root = "/ui/"

// Handler serves the page at Root and its files below. Files are revalidated by their entity tags, and compressed for clients that
// accept gzip. For other paths it calls missing.
func Handler(missing http.Handler) http.Handler {
	pages := map[string]*file{}
	z, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		panic("BUG: level of compression: " + err.Error())
	}
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		pages[Root+strings.TrimSuffix(name, "index.html")] = newFile(name, text, z)
		return nil
	})
	if err != nil {
		panic("BUG: embedded files: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := pages[r.URL.Path]; f != nil {
			f.serve(w, r)
			return
		}
		missing.ServeHTTP(w, r)
	})
}

// newFile compresses a file by z, which serves one after the other: its tables are nearly a megabyte.
func newFile(name string, text []byte, z *gzip.Writer) *file {
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	var packed bytes.Buffer
	z.Reset(&packed)
	_, err := z.Write(text)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("BUG: compress " + name + ": " + err.Error())
	}
	sum := sha256.Sum256(text)
	return &file{kind: kind, tag: fmt.Sprintf("%q", base64.RawURLEncoding.EncodeToString(sum[:12])), text: text, packed: packed.Bytes()}
}

// serve answers with the file. The tag is that of both encodings, which Vary keeps apart.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	text := f.text
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = f.packed
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// acceptsGzip reports whether a client names gzip, other than with the weight 0.
func acceptsGzip(headers []string) bool {
	for item := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(item, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
