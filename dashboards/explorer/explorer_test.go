package explorer_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/dashboards/explorer"
)

// get asks the page's handler.
func get(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header = header
	w := httptest.NewRecorder()
	explorer.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	return w
}

// files are the paths of the page's files, with their text.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".go") {
			return err
		}
		out[explorer.Root+strings.TrimSuffix(name, "index.html")], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFiles(t *testing.T) {
	packed := 0
	for path, want := range files(t) {
		plain := get(t, path, http.Header{})
		text, err := io.ReadAll(plain.Body)
		if err != nil || plain.Code != http.StatusOK || !bytes.Equal(text, want) {
			t.Errorf("%s: status %d, %d bytes of %d, %v", path, plain.Code, len(text), len(want), err)
		}
		zipped := get(t, path, http.Header{"Accept-Encoding": {"br, gzip;q=0.8"}})
		raw, err := io.ReadAll(zipped.Body)
		if err != nil || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: encoding %q, %v", path, zipped.Header().Get("Content-Encoding"), err)
		}
		packed += len(raw)
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(z); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s: compressed, it has %d bytes of %d, %v", path, len(text), len(want), err)
		}
		again := get(t, path, http.Header{"If-None-Match": {plain.Header().Get("ETag")}})
		if again.Code != http.StatusNotModified {
			t.Errorf("%s: asked again, status %d", path, again.Code)
		}
	}
	if most := 150_000; packed > most || packed == 0 {
		t.Errorf("the page has %d bytes compressed, more than %d", packed, most)
	}
}

func TestPolicy(t *testing.T) {
	resp := get(t, explorer.Root, http.Header{})
	policy := resp.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}

func TestWithoutGzip(t *testing.T) {
	for _, header := range []string{"", "br", "gzip;q=0", "gzip; q=0.0"} {
		resp := get(t, explorer.Root, http.Header{"Accept-Encoding": {header}})
		if got := resp.Header().Get("Content-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q is answered with %q", header, got)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, path := range []string{"/ui/nothing", "/ui/views/", "/ui/doc.go", "/"} {
		if got := get(t, path, http.Header{}).Code; got != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got)
		}
	}
}

// TestOwnHostOnly looks for addresses of other hosts, and for addresses that are not relative: below a prefix they would miss.
func TestOwnHostOnly(t *testing.T) {
	foreign := regexp.MustCompile(`(?:\b(?:src|href|import|from)\b[\s=(]*["']|url\(["']?|fetch\(["'])(?:https?:)?/`)
	for path, text := range files(t) {
		if at := foreign.FindIndex(text); at != nil {
			t.Errorf("%s has an address that is not relative: %s", path, text[at[0]:min(len(text), at[1]+40)])
		}
	}
}

// TestDataIsText looks for what makes markup of text, which names from Kubernetes must never become.
func TestDataIsText(t *testing.T) {
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`)
	for path, text := range files(t) {
		if strings.Contains(path, "/uplot/") {
			continue
		}
		if at := markup.FindIndex(text); at != nil {
			t.Errorf("%s has %s", path, text[at[0]:at[1]])
		}
	}
}

// tables are the objects of the page's code that words are looked up in, such as those of its URL.
var tables = regexp.MustCompile(`(?m)^(?:export )?const ([A-Z_]+) = \{\s*(__proto__: null,)?`)

// TestTablesHaveOwnWordsOnly checks that no word of a URL, such as view=constructor, finds what every object of JavaScript has.
func TestTablesHaveOwnWordsOnly(t *testing.T) {
	found := 0
	for name, text := range files(t) {
		if !strings.HasSuffix(name, ".js") || strings.Contains(name, "uplot") {
			continue
		}
		for _, table := range tables.FindAllStringSubmatch(string(text), -1) {
			if found++; table[2] == "" {
				t.Errorf("%s: %s does not begin with __proto__: null", name, table[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d tables were found", found)
	}
}

// textOf is a file of the repository.
func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// textsOf are the texts of an object of the page's code, by their names.
func textsOf(t *testing.T, path, name string) map[string]string {
	t.Helper()
	_, rest, found := strings.Cut(textOf(t, path), "const "+name+" = {")
	body, _, ended := strings.Cut(rest, "\n};")
	if !found || !ended {
		t.Fatalf("%s has no table %s", path, name)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`([\w-]+|"[^"]+"): "([^"]*)"`).FindAllStringSubmatch(body, -1) {
		out[strings.Trim(m[1], `"`)] = m[2]
	}
	return out
}

// TestEffectsHaveTheirTitles checks that the page calls causes what tables of the program do.
func TestEffectsHaveTheirTitles(t *testing.T) {
	shown := textsOf(t, "views/why.js", "EFFECTS")
	for e := range change.NumEffects {
		if shown[e.String()] != e.Title() {
			t.Errorf("%s is called %q on the page and %q elsewhere", e, shown[e.String()], e.Title())
		}
	}
	if len(shown) != int(change.NumEffects) {
		t.Errorf("the page has %d effects, there are %d", len(shown), change.NumEffects)
	}
}

// TestWarningsHaveHeadings checks that each kind of warnings has a heading on the page, and a section that its link leads to.
func TestWarningsHaveHeadings(t *testing.T) {
	shown, sections := textsOf(t, "footer.js", "KINDS"), textOf(t, "../../TROUBLESHOOTING.md")
	for _, kind := range notices.Kinds() {
		if shown[kind.Name] == "" {
			t.Errorf("%s has no heading", kind.Name)
		}
		if !strings.Contains(sections, "\n### "+kind.Name+"\n") {
			t.Errorf("TROUBLESHOOTING.md has no section %s", kind.Name)
		}
	}
}

// TestGlossaryLeadsToSections checks that the sections that the glossary names are in SEMANTICS.md.
func TestGlossaryLeadsToSections(t *testing.T) {
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(textOf(t, "../../SEMANTICS.md"), -1) {
		anchors[strings.ReplaceAll(regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	named := regexp.MustCompile(`(?s)const \[[A-Z, ]+\] = \[(.*?)\];`).FindAllStringSubmatch(textOf(t, "glossary.js"), -1)
	found := 0
	for _, list := range named {
		for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(list[1], -1) {
			if found++; !anchors[m[1]] {
				t.Errorf("SEMANTICS.md has no section %s", m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d sections were found", found)
	}
}
