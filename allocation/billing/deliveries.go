package billing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Delivery is what one manifest lists, or without one all files of one folder.
type Delivery struct {
	Bill string    // name
	Name string    // of the manifest or the folder
	Time time.Time // of the manifest, else of the newest file
	// Fingerprint differs between deliveries of one name whose files differ.
	Fingerprint string
	files       []file
}

// folder is the name of the folder of a delivery without a manifest, else empty.
func (d *Delivery) folder() string {
	if isFolder(d.Name) {
		return d.Name
	}
	return ""
}

// isFolder reports whether a delivery of that name has no manifest.
func isFolder(name string) bool { return strings.HasSuffix(name, "/") }

// manifest is what exporters write beside their files: AWS Data Exports and Azure exports.
type manifest struct {
	DataFiles []string `json:"dataFiles"`
	Blobs     []struct {
		Name  string `json:"blobName"`
		Bytes *int64 `json:"byteCount"`
	} `json:"blobs"`
}

// exported is the name of the folder of a billing period as exporters call it.
var exported = regexp.MustCompile(`^(BILLING_PERIOD=\d{4}-\d{2}|\d{8}-\d{8})$`)

// period returns the folder of the billing period that a file of an exporter lies in, the same for data and metadata, and
// whether the file counts only once a manifest lists it: AWS has the folders data and metadata above, Azure one for each run below.
func period(name string) (folder string, wantsManifest bool) {
	parts := strings.Split(name, "/")
	i := slices.IndexFunc(parts, exported.MatchString)
	if i < 0 {
		return "", false
	}
	above, run := parts[:i], i+2 < len(parts)
	if aws := i > 0 && (parts[i-1] == "data" || parts[i-1] == "metadata"); aws {
		return path.Join(path.Join(above[:i-1]...), parts[i]), true
	}
	return path.Join(path.Join(above...), parts[i]), run
}

// deliveries returns what the files of a bill bring, in the order of their time, and warnings about what does not count yet.
func (f *Files) deliveries(ctx context.Context, bill string, settled *settling) (list []Delivery, warnings []string, err error) {
	manifests, data, others, err := f.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range others {
		warnings = append(warnings, fmt.Sprintf("bill %s: %s is a pipe, a device or a folder and is not read: put a file in its place, or give it another name", bill, f.where(name)))
	}
	if len(data)+len(manifests) == 0 {
		warnings = append(warnings, fmt.Sprintf("bill %s: no file of CSV or Parquet is in %s: give the place that the provider exports to", bill, f.place()))
	}
	byName := map[string]*file{}
	for i := range data {
		byName[data[i].Name] = &data[i]
	}
	claimed, periods := map[string]bool{}, map[string]bool{}
	for _, m := range newestRuns(manifests) {
		text, err := f.get(ctx, m.Name)
		if err != nil {
			return nil, nil, err
		}
		d := Delivery{Bill: bill, Name: m.Name, Time: m.Modified}
		folder, _ := period(m.Name)
		periods[folder] = true
		files, err := listed(text, byName)
		for _, of := range files {
			claimed[of.Name] = true
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("bill %s: manifest %s: %v: what was delivered before still counts", bill, f.where(m.Name), err))
			continue
		}
		d.files = append(files, m)
		list = append(list, d.fingerprinted())
	}
	folders, texts := f.folders(bill, slices.DeleteFunc(data, func(of file) bool { return claimed[of.Name] }), periods, settled)
	list, warnings = append(list, folders...), append(warnings, texts...)
	slices.SortFunc(list, func(a, b Delivery) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name)) })
	slices.Sort(warnings)
	return list, warnings, nil
}

// folders returns a delivery for each folder of files that no manifest lists, unless there is a manifest for its billing period.
func (f *Files) folders(bill string, data []file, periods map[string]bool, settled *settling) (list []Delivery, warnings []string) {
	folders, pending, changing := map[string]*Delivery{}, map[string]bool{}, map[string]*file{}
	for i := range data {
		of := &data[i]
		folder, wantsManifest := period(of.Name)
		if periods[folder] && folder != "" {
			continue
		}
		if wantsManifest {
			pending[folder] = true
			continue
		}
		dir := path.Dir(of.Name)
		if !settled.is(of) {
			changing[dir] = of
			continue
		}
		if folders[dir] == nil {
			folders[dir] = &Delivery{Bill: bill, Name: dir + "/"}
		}
		folders[dir].files = append(folders[dir].files, *of)
		folders[dir].Time = later(folders[dir].Time, of.Modified)
	}
	for dir, of := range changing {
		counts := "it counts"
		if settled.known(dir + "/") {
			counts = "what its folder had before counts, and this"
			delete(folders, dir)
		}
		warnings = append(warnings, fmt.Sprintf("bill %s: file %s may still be written: %s from the first look on at which it did not change for %s", bill, f.where(of.Name), counts, settleTime))
	}
	for _, d := range folders {
		list = append(list, d.fingerprinted())
	}
	for folder := range pending {
		warnings = append(warnings, fmt.Sprintf("bill %s: files of %s have no manifest: they count once the exporter has written it", bill, f.where(folder)))
	}
	return list, warnings
}

// newestRuns leaves of several manifests for the folder of one billing period the newest: each run brings all of the period.
func newestRuns(manifests []file) (list []file) {
	newest := map[string]int{}
	for _, m := range manifests {
		folder, wanted := period(m.Name)
		i, ok := newest[folder]
		switch {
		case !wanted:
			list = append(list, m)
		case !ok:
			newest[folder] = len(list)
			list = append(list, m)
		case !m.Modified.Before(list[i].Modified):
			list[i] = m
		}
	}
	return list
}

// listed returns the files that a manifest names. With an error they are those that are there.
func listed(text []byte, data map[string]*file) (files []file, err error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("it is no whole JSON: %w", err)
	}
	if len(m.DataFiles) == 0 && len(m.Blobs) == 0 {
		return nil, errors.New("it names no files: want dataFiles, as AWS Data Exports has them, or blobs, as Azure has them")
	}
	seen := map[string]bool{}
	add := func(name string, bytes *int64) {
		of := find(name, data)
		if of != nil {
			if seen[of.Name] { // by its URL and by its key, say
				return
			}
			seen[of.Name] = true
		}
		switch {
		case of == nil:
			err = cmp.Or(err, fmt.Errorf("%s, which it names, is not there yet", name))
		case bytes != nil && *bytes != of.Bytes:
			err = cmp.Or(err, fmt.Errorf("%s has %d bytes, not %d", name, of.Bytes, *bytes))
			files = append(files, *of)
		default:
			files = append(files, *of)
		}
	}
	for _, name := range m.DataFiles {
		add(name, nil)
	}
	for _, blob := range m.Blobs {
		add(blob.Name, blob.Bytes)
	}
	return files, err
}

// find returns the file that a manifest means. It may name it with a bucket and folders above those that are read, and as a URL, whose
// path is encoded, with parameters.
func find(name string, data map[string]*file) *file {
	_, rest, ok := strings.Cut(name, "://")
	if !ok {
		return findBelow(name, data)
	}
	if of := findBelow(rest, data); of != nil {
		return of
	}
	rest, _, _ = strings.Cut(rest, "?")
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return nil
	}
	return findBelow(decoded, data)
}

// findBelow returns the file of a name that may begin with folders above those that are read.
func findBelow(name string, data map[string]*file) *file {
	for rest, ok := strings.TrimPrefix(name, "/"), true; ok; _, rest, ok = strings.Cut(rest, "/") {
		if of := data[rest]; of != nil {
			return of
		}
	}
	return nil
}

// fingerprinted returns the delivery with its fingerprint.
func (d *Delivery) fingerprinted() Delivery {
	slices.SortFunc(d.files, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	fmt.Fprintln(sum, readingVersion, d.Name, d.Time.UnixNano())
	for _, of := range d.files {
		fmt.Fprintln(sum, of.Name, of.Bytes, of.Modified.UnixNano())
	}
	out := *d
	out.Fingerprint = hex.EncodeToString(sum.Sum(nil)[:16])
	return out
}

// readingVersion changes when the same files give other lines: they are read again.
const readingVersion = 2

// dataFiles is how many files with lines the delivery has.
func (d *Delivery) dataFiles() (n int) {
	for i := range d.files {
		if !isManifest.MatchString(d.files[i].Name) {
			n++
		}
	}
	return n
}

// read reads all lines of a delivery into a batch, but those of files that are cut. It warns of these, and of files of one content.
func (d *Delivery) read(ctx context.Context, f *Files, to *batch, cut map[string]error) (warnings []string, err error) {
	first := map[string]string{} // file, by its content
	sizes := map[int64]int{}
	for i := range d.files {
		sizes[d.files[i].Bytes]++
	}
	for i := range d.files {
		of := &d.files[i]
		if isManifest.MatchString(of.Name) {
			continue
		}
		if err := cut[of.Name]; err != nil {
			warnings = append(warnings, fmt.Sprintf("bill %s: %v: nothing of this file counts", d.Bill, err))
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before := to.tallies.costs()
		if err := f.read(ctx, of, d.Bill, to); err != nil {
			return nil, err
		}
		if sizes[of.Bytes] < 2 {
			continue
		}
		content, err := f.sum(ctx, of.Name)
		if err != nil {
			return nil, err
		}
		if other, ok := first[content]; ok {
			warnings = append(warnings, fmt.Sprintf("bill %s: files %s and %s have the same content: both count, %s each: delete one if it is a copy", d.Bill, f.where(other), f.where(of.Name), costsText(to.tallies.costs(), before)))
		} else {
			first[content] = of.Name
		}
	}
	return warnings, nil
}

// costsText writes what was added to costs, by currency.
func costsText(costs, before map[string]float64) string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(costs)) {
		if more := costs[currency] - before[currency]; more != 0 {
			parts = append(parts, fmt.Sprintf("%.2f %s", more, currency))
		}
	}
	return cmp.Or(strings.Join(parts, " and "), "0.00")
}
