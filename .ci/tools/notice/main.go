// Command notice writes which modules are linked into the released programs, under which licenses, and what those licenses want to be
// passed on. It fails where a license is not on the list of those allowed, or a module has none.
//
//	notice -o NOTICE -tags disable_grpc_modules -platforms "linux-amd64 windows-amd64" ./cmd/promcost ./cmd/promcost-apiserver
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	output := flag.String("o", "NOTICE", "file to write")
	program := flag.String("go", "go", "the go command")
	tags := flag.String("tags", "", "build tags of the programs")
	platforms := flag.String("platforms", "", "SYSTEM-ARCHITECTURE of the programs, separated by spaces")
	flag.Parse()
	content, err := text(*program, *tags, strings.Fields(*platforms), flag.Args())
	if err == nil {
		err = os.WriteFile(*output, content, 0o644)
	}
	if err != nil {
		log.Fatal("notice: ", err)
	}
}

// text is the text for programs as the go command builds them for platforms.
func text(program, tags string, platforms, programs []string) ([]byte, error) {
	modules := map[string]*module{}
	for _, platform := range platforms {
		if err := list(modules, program, tags, platform, programs); err != nil {
			return nil, fmt.Errorf("list what is linked for %s: %w", platform, err)
		}
	}
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		problems = append(problems, modules[path].read())
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return notice(modules), nil
}

// linked is what "go list" says of a package.
type linked struct {
	Dir        string
	EmbedFiles []string
	Module     *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// list adds the modules that programs of a platform are linked from, each with the directories of its linked packages.
func list(modules map[string]*module, program, tags, platform string, programs []string) error {
	system, arch, _ := strings.Cut(platform, "-")
	cmd := exec.CommandContext(context.Background(), program, append([]string{"list", "-deps", "-tags", tags, "-json=Dir,EmbedFiles,Module"}, programs...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p linked
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil { // of Go itself
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &module{name: p.Module.Path, version: p.Module.Version, root: p.Module.Dir, own: p.Module.Main, dirs: map[string]bool{}}
			if r := p.Module.Replace; r != nil {
				m.name, m.version = r.Path, r.Version
			}
			modules[p.Module.Path] = m
		}
		m.dirs[p.Dir] = true
		for _, file := range p.EmbedFiles {
			m.dirs[filepath.Dir(filepath.Join(p.Dir, file))] = true
		}
	}
}
