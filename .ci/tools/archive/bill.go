package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// bill is a software bill of materials in CycloneDX's form, version 1.6.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp  string     `json:"timestamp"`
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// bill lists the modules that Go recorded in a binary, as "go version -m" prints them, and how it was built.
func (r release) bill(binary string, content []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	name := strings.TrimSuffix(filepath.Base(binary), ".exe")
	program := module("application", info.Main.Path, r.version)
	program.Name, program.Hashes = name, []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: serial(sum), Version: 1,
		Metadata:     metadata{Timestamp: r.created.Format(time.RFC3339), Component: program, Properties: settings(info)},
		Components:   []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))},
		Dependencies: []dependency{{Ref: program.Ref}},
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := module("library", dep.Path, dep.Version)
		if c.Hashes, err = hashes(dep.Sum); err != nil {
			return nil, fmt.Errorf("sum of %s: %w", dep.Path, err)
		}
		b.Components = append(b.Components, c)
	}
	for _, c := range b.Components {
		b.Dependencies[0].DependsOn = append(b.Dependencies[0].DependsOn, c.Ref)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// module is a component that is a Go module.
func module(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: url, Name: path, Version: version, PURL: url}
}

// hashes are those of a sum in go.sum: a SHA-256 over the names and contents of a module's files.
func hashes(sum string) ([]hash, error) {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return []hash{{"SHA-256", hex.EncodeToString(raw)}}, err
}

// settings are how the binary was built.
func settings(info *debug.BuildInfo) []property {
	var properties []property
	for _, s := range info.Settings {
		properties = append(properties, property{"go:build:" + s.Key, s.Value})
	}
	return properties
}

// serial is the identifier of a bill, made from the binary so that it is the same whenever the binary is.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8, whose bits are ours
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
