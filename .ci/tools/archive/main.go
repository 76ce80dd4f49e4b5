// Command archive packs a binary for each platform with the files that go along, writes what modules it was built from, packs a Helm chart,
// and sums all files of a release. The same input, version and time give the same bytes.
//
//	archive -o bin/dist -version 1.2.3 -created 1700000000 -plugin kubectl -with LICENSE,README.md bin/build/linux-amd64/promcost …
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxBinary is how large a binary may be.
const maxBinary = 80_000_000

// release is what the archives are made of.
type release struct {
	dir, version string
	created      time.Time
	plugin       string   // the program that runs the binaries as plugins; "" for none
	with         []string // files that go along with every binary
}

// file is one of an archive.
type file struct {
	name    string
	mode    os.FileMode
	content []byte
	link    string // the file that it links to, "" where it has content
}

func main() {
	dir := flag.String("o", "", "directory of the release")
	version := flag.String("version", "", "version of the program")
	created := flag.Int64("created", 0, "time of all files, in seconds of Unix time")
	plugin := flag.String("plugin", "", "program that runs the binaries as plugins, by the name PROGRAM-BINARY")
	with := flag.String("with", "", "files that go along, separated by commas")
	chart := flag.String("chart", "", "directory of a Helm chart to pack, too, whose name it has")
	flag.Parse()
	r := release{*dir, *version, time.Unix(*created, 0).UTC(), *plugin, strings.Split(*with, ",")}
	for _, binary := range flag.Args() {
		if err := r.add(binary); err != nil {
			log.Fatalf("archive: %s: %v", binary, err)
		}
	}
	if err := r.addChart(*chart); err != nil {
		log.Fatalf("archive: %s: %v", *chart, err)
	}
	if err := r.sum(); err != nil {
		log.Fatal("archive: ", err)
	}
}

// add writes the archive of a binary and its bill of materials.
func (r release) add(binary string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if len(content) > maxBinary {
		return fmt.Errorf("it has %d bytes, at most %d are allowed: see what it imports", len(content), maxBinary)
	}
	platform := filepath.Base(filepath.Dir(binary))
	base := filepath.Base(binary)
	program, isWindows := strings.CutSuffix(base, ".exe")
	name := program + "-" + r.version + "." + platform
	files := []file{{name: base, mode: 0o755, content: content}}
	switch plugin := r.plugin + "-" + program; {
	case r.plugin != "" && isWindows: // which has no links in archives
		files = append(files, file{name: plugin + ".cmd", mode: 0o755, content: fmt.Appendf(nil, "@\"%%~dp0%s\" %s %%*\r\n", base, r.plugin)})
	case r.plugin != "":
		files = append(files, file{name: plugin, mode: 0o777, link: base})
	}
	for _, along := range r.with {
		text, err := os.ReadFile(along)
		if err != nil {
			return err
		}
		files = append(files, file{name: filepath.Base(along), mode: 0o644, content: text})
	}
	pack, suffix := r.tarball, ".tar.gz"
	if isWindows {
		pack, suffix = r.zip, ".zip"
	}
	packed, err := pack(name, files)
	if err != nil {
		return err
	}
	bill, err := r.bill(binary, content)
	if err != nil {
		return err
	}
	if err := r.write(name+".cdx.json", bill); err != nil {
		return err
	}
	return r.write(name+suffix, packed)
}

// addChart packs the files of a chart as Helm does: CHART-VERSION.tgz.
func (r release) addChart(dir string) error {
	if dir == "" {
		return nil
	}
	var files []file
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, file{name: filepath.ToSlash(name), mode: 0o644, content: text})
		return err
	})
	if err != nil {
		return err
	}
	packed, err := r.tarball(filepath.Base(dir), files)
	if err != nil {
		return err
	}
	return r.write(filepath.Base(dir)+"-"+r.version+".tgz", packed)
}

// tarball is a compressed archive of files in one directory.
func (r release) tarball(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: dir + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: r.created, Linkname: f.link}
		if f.link != "" {
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// zip is the same as a zip file, which Windows opens.
func (r release) zip(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: r.created}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// sums are the checksums of a release.
const sums = "sha256sums.txt"

// sum writes the checksums of all other files of the release, in the form that sha256sum --check reads.
func (r release) sum() error {
	entries, err := os.ReadDir(r.dir) // sorted by name
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		if e.Name() == sums {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return r.write(sums, text.Bytes())
}

// write writes a file of the release.
func (r release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.dir, name), content, 0o644)
}
