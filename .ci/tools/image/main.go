// Command image writes an OCI image layout of a static binary without a container engine: one index with an image for each
// platform. The same binaries, version and time give the same bytes.
//
//	image -o bin/oci -port 9003/tcp -version 1.2.3 -created 1700000000 -licenses LICENSE,NOTICE bin/build/linux-amd64/promcost bin/build/linux-arm64/promcost
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user and the group that the image runs as, a number because Kubernetes proves by it that it is not root.
const user = 65532

// release says which release of the program it is. The Dockerfile has the same user, directories and labels.
type release struct {
	version, revision, port string // port is the one that it listens on, such as 9003/tcp
	created                 time.Time
	licenses                []string // files
}

func main() {
	dir, created := flag.String("o", "", "directory of the layout, which is written anew"), flag.Int64("created", 0, "Unix time of its files")
	version, revision, port := flag.String("version", "", "version of the program"), flag.String("revision", "", "its commit"), flag.String("port", "", "its port")
	licenses := flag.String("licenses", "", "files of the directory licenses, separated by commas")
	flag.Parse()
	r := release{*version, *revision, *port, time.Unix(*created, 0).UTC(), strings.Split(*licenses, ",")}
	if err := r.write(*dir, flag.Args()); err != nil {
		log.Fatal("image: ", err)
	}
}

// write writes a layout whose only entry is an index, which is how tools expect images of several platforms.
func (r release) write(dir string, binaries []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, file := range binaries {
		p, err := v1.ParsePlatform(strings.ReplaceAll(filepath.Base(filepath.Dir(file)), "-", "/"))
		if err != nil {
			return fmt.Errorf("platform of %s: %w", file, err)
		}
		img, err := r.image(p, file)
		if err != nil {
			return fmt.Errorf("image of %s: %w", file, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	named := v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}}
	_, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: named}))
	return err
}

// image is the image of one platform: a layer, and how it runs.
func (r release) image(p *v1.Platform, file string) (v1.Image, error) {
	layer, err := r.layer(file)
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture, Created: v1.Time{Time: r.created}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/bin/" + filepath.Base(file)}, WorkingDir: "/",
			ExposedPorts: map[string]struct{}{r.port: {}}, Labels: map[string]string{
				"org.opencontainers.image.title": filepath.Base(file), "org.opencontainers.image.description": "What Kubernetes workloads cost",
				"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.revision,
				"org.opencontainers.image.created":  r.created.Format(time.RFC3339),
				"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/promcost/promcost",
			},
		},
	})
	if err != nil {
		return nil, err
	}
	img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "make image"}})
}

// entry is one of a tar archive, with the content of a file unless it is a directory.
type entry struct {
	header tar.Header
	file   string
}

// layer is a tar archive of the binary, the licenses, a directory for the history and one for temporary files, all of one time.
func (r release) layer(file string) (v1.Layer, error) {
	entries := []entry{
		{header: tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o755}},
		{tar.Header{Typeflag: tar.TypeReg, Name: "bin/" + filepath.Base(file), Mode: 0o755}, file},
		{header: tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o755, Uid: user, Gid: user}}, // where --storage.path=data is, from /
		{header: tar.Header{Typeflag: tar.TypeDir, Name: "licenses/", Mode: 0o755}},
	}
	for _, license := range r.licenses {
		entries = append(entries, entry{tar.Header{Typeflag: tar.TypeReg, Name: "licenses/" + filepath.Base(license), Mode: 0o644}, license})
	}
	entries = append(entries, entry{header: tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}})
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		var content []byte
		if e.file != "" {
			var err error
			if content, err = os.ReadFile(e.file); err != nil {
				return nil, err
			}
		}
		e.header.ModTime, e.header.Size = r.created, int64(len(content))
		if err := w.WriteHeader(&e.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9), tarball.WithCompressedCaching)
}
