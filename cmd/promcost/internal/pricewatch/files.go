package pricewatch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/listprices"
)

// folder has the kept lists: one file for each place, whose name says when it was fetched.
const folder = "prices"

// fileTime is the form of that time, which sorts.
const fileTime = "20060102T150405Z"

// fileForm is what names of files look like.
var fileForm = regexp.MustCompile(`^` + folder + `/([a-z]+)/([a-z0-9-]+)/([0-9]{8}T[0-9]{6}Z)\.csv$`)

// fileName is the name of a file.
func fileName(p Place, fetched time.Time) string {
	return folder + "/" + p.Provider + "/" + p.Region + "/" + fetched.UTC().Format(fileTime) + ".csv"
}

// Load reads the lists that are kept.
func (w *Watch) Load(ctx context.Context) error {
	_, err := w.load(ctx)
	return err
}

// load reads the newest file of each place that is not read yet, and reports whether there was any. Files that cannot be read count for nothing: they are fetched again.
func (w *Watch) load(ctx context.Context) (changed bool, err error) {
	if w.Backend == nil {
		return false, nil
	}
	newest, err := w.list(ctx)
	if err != nil {
		return false, fmt.Errorf("list kept list prices: %w", err)
	}
	var errs []error
	for p, names := range newest {
		name := names[len(names)-1]
		w.mu.Lock()
		known := w.kept[p].name
		w.mu.Unlock()
		if name <= known {
			continue
		}
		data, err := w.Backend.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // replaced meanwhile
		}
		var next kept
		if err == nil {
			next, err = readFile(name, data)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		w.mu.Lock()
		w.kept[p] = next
		delete(w.problems, p)
		w.mu.Unlock()
		changed = true
	}
	return changed, errors.Join(errs...)
}

// list are the names of the files of each place, the newest last.
func (w *Watch) list(ctx context.Context) (map[Place][]string, error) {
	names := map[Place][]string{}
	err := w.Backend.List(ctx, folder, false, func(o history.Object) error {
		if m := fileForm.FindStringSubmatch(o.Name); m != nil {
			p := Place{m[1], m[2]}
			names[p] = append(names[p], o.Name)
		}
		return nil
	})
	for _, of := range names {
		slices.Sort(of)
	}
	return names, err
}

// versionLine is how the line of a file begins that says which version its list is.
const versionLine = "# version: "

// readFile reads a file.
func readFile(name string, data []byte) (kept, error) {
	m := fileForm.FindStringSubmatch(name)
	fetched, err := time.Parse(fileTime, m[3])
	if err != nil {
		return kept{}, fmt.Errorf("read %s: %w", name, err)
	}
	table, err := listprices.Read(tableName, bytes.NewReader(data))
	if err != nil {
		return kept{}, fmt.Errorf("read %s: %w", name, err)
	}
	k := kept{name: name, fetched: fetched, table: table}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan() && strings.HasPrefix(lines.Text(), "#"); {
		if version, ok := strings.CutPrefix(lines.Text(), versionLine); ok {
			k.version = version
		}
	}
	return k, nil
}

// write writes the file of a list, and then removes those that it replaces.
func (w *Watch) write(ctx context.Context, p Place, k *kept) error {
	comments := []string{"What " + p.Provider + " lists in " + p.Region + ", fetched at " + k.fetched.Format(time.RFC3339) + "."}
	if k.version != "" {
		comments = append(comments, strings.TrimPrefix(versionLine, "# ")+k.version)
	}
	var b bytes.Buffer
	if err := listprices.Write(&b, comments, k.table.Rows()); err != nil {
		return err
	}
	if err := w.Backend.Put(ctx, k.name, b.Bytes()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	names, err := w.list(ctx)
	if err != nil {
		return nil //nolint:nilerr // the new one is there, and the next one removes the old ones
	}
	for _, name := range names[p] {
		if name < k.name {
			_ = w.Backend.Delete(ctx, name) // the next one tries again
		}
	}
	return nil
}
