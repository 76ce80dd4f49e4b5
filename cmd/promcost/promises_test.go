package main

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var keepPromises = flag.Bool("promises", false, "add an input, a column, a family, a parameter and a store to a copy of the tree, and say which files that touches")

// row is a line that is added to a file of the tree, before another one; before nothing, it is the whole of a new file.
type addedRow struct{ file, before, row string }

// promises are what CONTRIBUTING says of each kind of row: how it is added, what of an answer shows it, and which packages have
// tests that list all rows of the kind. Those tests fail without a line for the new row, which is its test; golden files are
// rewritten.
var promises = map[string]struct {
	rows  []addedRow
	path  string // an answer that shows it
	shows []string
	serve []string // flags of the server that answers; those of blocks if there are none, BLOCKS stands for their directory
	lists []string // packages
	gold  []string // those with golden files
	tests []addedRow
}{
	"input": {
		rows: []addedRow{{
			"promquery/inputs.go", `	{Name: "node spot", Signal`,
			`	{Name: "promised spot", Signal: signals.NodeSpot, Alternatives: []Alternative{metric("kube_node_created")}, Missing: "nothing", Remedy: ksm, Need: Occasional},`,
		}},
		path:  "/model/diagnose?",
		shows: []string{`"promised spot"`},
		lists: []string{"./promquery", "-run", "Diagnose|Inputs|Reading"},
	},
	"column": {
		rows: []addedRow{
			{"allocation/columns.go", "	NumColumns\n", "	PromisedSeconds"},
			{"allocation/columns.go", "	} {\n		c[col] = traits", `		PromisedSeconds: {name: "promisedSeconds", field: "promised_seconds"},`},
			{"allocation/fields/fields.go", `		sum("sharedCost",`, `		sum("promisedSeconds", "seconds", "What is promised.", allocation.PromisedSeconds),`},
			{"allocation/build/resolve/rows.go", "	rs.AddTo(ref, allocation.RunningSeconds", "	rs.AddTo(ref, allocation.PromisedSeconds, 1)"},
		},
		path:  "/model/allocation?aggregate=cluster&idle=false&accumulate=true&format=json",
		shows: []string{`"promisedSeconds":`},
		lists: []string{"./allocation", "./allocation/passes", "./allocation/fields", "./allocation/encode", "./allocation/parquet", "./allocation/costapi"},
		gold:  []string{"./allocation/encode", "./allocation/costapi"},
		tests: []addedRow{{"allocation/fields/fields_test.go", "		sharedCost externalCost", "		promisedSeconds"}},
	},
	"family": {
		rows: []addedRow{{
			"allocation/metering/families.go", "		{\n			name: \"promcost_reconciliation_residual\"",
			`		{name: "promcost_promised_cost", help: "What is promised, in the currency of promcost_currency_info.", value: totalCost},`,
		}},
		path:  "/api/v1/query?query=sum(promcost_promised_cost)",
		shows: []string{`"status":"success"`, `"value":[`},
		lists: []string{"./allocation/metering", "./collector"},
		gold:  []string{"./collector"},
		tests: []addedRow{{
			"allocation/metering/families_test.go", `			"reconciliation_residual{c,cpu} 0",`,
			`			"promised_cost{c,cpu} 0", "promised_cost{c,ram} 0.5", "promised_cost{c,gpu} 0",`,
		}},
	},
	"parameter": {
		rows: []addedRow{{
			"allocation/costapi/params_rows.go", `		{"shareIdle", nil,`,
			`		{"promised", nil, "boolean", defaults{}, results, "Name idle <cluster>/__idle__.", option(func(o *passes.Options) *bool { return &o.SplitIdle })},`,
		}},
		path:  "/model/allocation?aggregate=namespace&accumulate=true&promised=true",
		shows: []string{`/__idle__"`},
		lists: []string{"./allocation/costapi"},
		gold:  []string{"./allocation/costapi"},
	},
	"store": {
		rows: []addedRow{
			{file: "promquery/promised/promised.go", row: promisedStore},
			{"cmd/promcost/stores.go", "	{sourceQuery,", `	{"promised", func(f *sourceFlags) (serverSource, error) { return promised.Open(f.prometheus.url) }},`},
			{"cmd/promcost/stores.go", `	"github.com/promcost/promcost/promquery/remote"`, `	"github.com/promcost/promcost/promquery/promised"`},
		},
		path:  "/model/diagnose?",
		shows: []string{`"name":"promised"`},
		serve: []string{"--source=promised", "--prometheus.url=http://localhostBLOCKS"},
		lists: []string{"./promquery", "-run", "^TestSource$|^TestDiagnoseSources$"},
		tests: []addedRow{
			{"cmd/promcost/imports_test.go", `	"promquery/upstream": `, `	"promquery/promised": {"promquery", "promquery/blocks"},`},
			{"promquery/source_test.go", `	{"remote read", func(`, `	{"promised", func(t *testing.T, dir string) opened {
		src, err := promised.Open("http://localhost" + dir)
		if err != nil {
			t.Fatal(err)
		}
		return opened{src, false, true, false}
	}},`},
			{"promquery/source_test.go", `	"github.com/promcost/promcost/promquery/promtest"`, `	"github.com/promcost/promcost/promquery/promised"`},
			{"promquery/diagnose_test.go", `"query API": "query", `, `"promised": "promised",`},
		},
	},
}

// promisedStore is a store that has the blocks in a directory, which the path of a URL names.
const promisedStore = `// Package promised is a store of a test.
package promised

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
)

// Source reads the store.
type Source struct{ db *blocks.DB }

// Open opens the store at a URL.
func Open(text string) (*Source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	db, err := blocks.Open(u.Path)
	if err != nil {
		return nil, err
	}
	return &Source{db}, nil
}

// Select implements promquery.Source.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return s.db.Select(ctx, rs, stats)
}

// Name implements promquery.Named.
func (*Source) Name(context.Context) string { return "promised" }

// DataBegin returns from.
func (*Source) DataBegin(_ context.Context, _ []string, from, _ time.Time) (time.Time, error) { return from, nil }

// ExternalLabels returns none.
func (*Source) ExternalLabels(context.Context) (map[string]string, error) { return nil, nil }
`

// goldenTests are the tests that rewrite golden files; slowLaws are tests that do not depend on what is there.
const (
	goldenTests = "^Test(Golden|Endpoints|Parameters|Exposition|Everything)"
	slowLaws    = "^TestPartsAddUp"
)

// mayChange reports whether a promise may touch a file besides the rows and their tests, because it is generated from the tables.
func mayChange(file string) bool {
	return file == "REFERENCE.md" || strings.Contains(file, "/testdata/")
}

// TestPromises holds CONTRIBUTING to its word: it adds a row of each kind to a copy of the tree, asks the program for it, and says
// which files were touched. The tests that list all rows pass once golden files are rewritten and the row has a line there.
func TestPromises(t *testing.T) {
	if !*keepPromises {
		t.Skip("runs by make promises")
	}
	blocks, end := filepath.Join(t.TempDir(), "blocks"), compareEnd
	p := start(t, append([]string{"demo", "--write=" + blocks, "--demo.end=" + end.Format(time.RFC3339), "--demo.scrape-interval=1m"}, smallDemo...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	for _, kind := range slices.Sorted(maps.Keys(promises)) {
		t.Run(kind, func(t *testing.T) {
			promise := promises[kind]
			tree, program := copyTree(t), filepath.Join(t.TempDir(), "promcost")
			byHand := map[string]bool{}
			for _, r := range slices.Concat(promise.rows, promise.tests) {
				r.add(t, tree)
				byHand[r.file] = true
			}
			inTree(t, tree, "go", "build", "-o", program, "./cmd/promcost")
			inTree(t, tree, "go", "generate", "./...")
			for _, of := range promise.gold {
				inTree(t, tree, "go", "test", of, "-run", goldenTests, "-update")
			}
			inTree(t, tree, "go", append([]string{"test", "-skip", slowLaws}, promise.lists...)...)
			touched := strings.Fields(string(inTree(t, tree, "git", "diff", "--name-only")))
			for _, file := range touched {
				if !byHand[file] && !mayChange(file) {
					t.Errorf("%s is touched, too", file)
				}
			}
			history, from := filepath.Join(t.TempDir(), "history"), end.Add(-7*time.Hour).Truncate(time.Hour)
			source := []string{"--source=blocks", "--tsdb.path=" + blocks, "--storage.path=" + history}
			inTree(t, tree, program, append([]string{"backfill", "--from=" + from.Format(time.RFC3339)}, source...)...)
			if promise.serve != nil {
				source = nil
				for _, flag := range promise.serve {
					source = append(source, strings.ReplaceAll(flag, "BLOCKS", blocks))
				}
			}
			server := startDaemon(t, program, append([]string{"serve"}, source...)...)
			window := url.Values{"window": {from.Format(time.RFC3339) + "," + end.Truncate(time.Hour).Format(time.RFC3339)}, "time": {end.Format(time.RFC3339)}}
			code, body := get(t, server.url+promise.path+"&"+window.Encode())
			for _, text := range promise.shows {
				if code != http.StatusOK || !strings.Contains(body, text) {
					t.Errorf("%s answers %d without %s: %.2000s", promise.path, code, text, body)
				}
			}
			t.Logf("%s: by hand %s; made from the tables: %s", kind, strings.Join(slices.Sorted(maps.Keys(byHand)), " "),
				strings.Join(slices.DeleteFunc(touched, func(file string) bool { return byHand[file] }), " "))
		})
	}
}

// add adds the row to a tree.
func (r *addedRow) add(t *testing.T, tree string) {
	t.Helper()
	name := filepath.Join(tree, r.file)
	if r.before == "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(r.row), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte(r.before)); n != 1 {
		t.Fatalf("%s has %q %d times, want it once", r.file, r.before, n)
	}
	if err := os.WriteFile(name, bytes.Replace(data, []byte(r.before), []byte(r.row+"\n"+r.before), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// inTree runs a program in a tree.
func inTree(t *testing.T, tree, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = tree
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %.6000s", cmd, err, out)
	}
	return out
}

// copyTree copies the files of the module that git knows, and makes them a repository that shows what changes.
func copyTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimRight(string(inTree(t, root, "git", "ls-files", "-z")), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(tree, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inTree(t, tree, "git", "init", "--quiet")
	inTree(t, tree, "git", "add", "--all")
	return tree
}
