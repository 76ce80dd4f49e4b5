// Package document reads the one document of a JSON or YAML text that a user gives, of a bounded size, and refuses what may mean
// something else: a second document, or a key that occurs twice.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// MaxBytes is the most bytes that are read of a file or of standard input.
const MaxBytes = 64 << 20

// ReadText reads a file, or standard input if none is named.
func ReadText(file string, in io.Reader, flag string) ([]byte, error) {
	if file == "" || file == "-" {
		return readBounded("standard input", in)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read --%s: %w: give a readable file", flag, err)
	}
	defer func() { _ = f.Close() }()
	return readBounded("--"+flag, f)
}

// readBounded reads all of in, which is called name.
func readBounded(name string, in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > MaxBytes:
		return nil, fmt.Errorf("read %s: it is longer than %d MiB: split it", name, MaxBytes>>20)
	}
	return text, nil
}

// Read reads the one document of a JSON or YAML text. Numbers are of type float64.
func Read(text []byte) (any, error) {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		data, err := readJSON(text)
		if syntax := new(json.SyntaxError); !errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return data, err
		}
		if data, yamlErr := readYAML(text); yamlErr == nil {
			return data, nil // which may have braces, too
		}
		return nil, err
	}
	return readYAML(text)
}

// readJSON is the one object or array in text.
func readJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var data any
	if err := decoder.Decode(&data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("parse input: %w: give one document of JSON or YAML", err)
	}
	end := int(decoder.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		found, _ := utf8.DecodeRune(rest)
		return nil, fmt.Errorf("parse input: byte %d: found %q after the document: give one document", len(text)-len(rest)+1, found)
	}
	return data, checkKeys(text[:end])
}

// checkKeys refuses objects with a key twice in JSON that is right otherwise: which of the values counts is anybody's guess.
func checkKeys(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	type level struct {
		keys map[string]bool // nil in arrays
		key  bool            // what follows is one
	}
	var levels []level
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("parse input: %w", err)
		}
		if name, ok := token.(string); ok && len(levels) > 0 && levels[len(levels)-1].key {
			top := &levels[len(levels)-1]
			if top.keys[name] {
				return fmt.Errorf("parse input: byte %d: key %q is there already: name it once", decoder.InputOffset(), name)
			}
			top.keys[name], top.key = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{keys: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			levels = append(levels, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
		if len(levels) > 0 { // a value has ended
			top := &levels[len(levels)-1]
			top.key = top.keys != nil
		}
	}
}

// readYAML reads the one document of a YAML text, null if it is empty.
func readYAML(text []byte) (data any, err error) {
	documents := yamlv3.NewDecoder(bytes.NewReader(text))
	for i := 0; ; i++ {
		var document yamlv3.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("parse input: %w: give one document of JSON or YAML", err)
		}
		if i > 0 {
			return nil, fmt.Errorf("parse input: line %d: another document begins: give one document", document.Line)
		}
	}
	if err := yaml.UnmarshalStrict(text, &data); err != nil {
		return nil, fmt.Errorf("parse input: %w: give one document of JSON or YAML", err)
	}
	return data, nil
}
