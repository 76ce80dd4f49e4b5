package parquet

import (
	"bytes"
	"errors"
	"sync"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// schema has the columns of a file, by its footer.
type schema struct {
	text   []byte // as it is stored
	leaves []leafLayout
	byPath map[string]int
}

// schemaElement is a node of a schema. Nodes are stored depth first.
type schemaElement struct {
	kind, repetition, children int64
	name                       string
}

// Values of the repetition of an element.
const (
	optionalElement = 1
	repeatedElement = 2
)

// knownSchemas caches the schemas that were read last. There are few different ones, and to read one takes as long as the rest of a
// footer. The zero value is ready for use. It is safe for concurrent use.
type knownSchemas struct {
	mu   sync.Mutex
	list [maxKnownSchemas]*schema
	next int
}

// Limits of knownSchemas: there are schemas of rows and of assets, and those of an older version. A schema has some 3 kB.
const (
	maxKnownSchemas = 4
	maxKnownSchema  = 64 << 10
)

// prefixOf returns the schema that data begins with, nil if it is not known.
func (k *knownSchemas) prefixOf(data []byte) *schema {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.list {
		if s != nil && bytes.HasPrefix(data, s.text) {
			return s
		}
	}
	return nil
}

// add replaces the oldest schema.
func (k *knownSchemas) add(s *schema) {
	if len(s.text) > maxKnownSchema {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list[k.next] = s
	k.next = (k.next + 1) % maxKnownSchemas
}

// schema returns a known schema, or reads it.
func (w *walker) schema(known *knownSchemas) (*schema, error) {
	if s := known.prefixOf(w.rest()); s != nil {
		return s, w.skip(uint64(len(s.text)))
	}
	var elements []schemaElement
	from := w.at
	err := w.structs(1, func(n int) { elements = make([]schemaElement, 0, n) }, func(w *walker) error {
		elements = append(elements, schemaElement{})
		return w.fields(2, elements[len(elements)-1].field)
	})
	if err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, errors.New("it has no schema")
	}
	s := &schema{bytes.Clone(w.data[from:w.at]), make([]leafLayout, 0, len(elements)), make(map[string]int, len(elements))}
	rest, err := s.children(elements, leafLayout{}, "")
	if err == nil && len(rest) > 0 {
		err = errFooter
	}
	if err == nil {
		known.add(s)
	}
	return s, err
}

func (e *schemaElement) field(w *walker, id int64, kind byte) (known bool, err error) {
	switch {
	case id == 4 && kind == thriftBinary:
		var name []byte
		err = w.bytes(&name)
		e.name = string(name)
		return true, err
	case !isInteger(kind):
	case id == 1:
		return true, w.number(&e.kind)
	case id == 3:
		return true, w.number(&e.repetition)
	case id == 5:
		return true, w.number(&e.children)
	}
	return false, nil
}

// children adds the leaves below the first element of a schema, and returns the elements after them.
func (s *schema) children(elements []schemaElement, levels leafLayout, prefix string) (rest []schemaElement, err error) {
	n := elements[0].children
	elements = elements[1:]
	if n < 0 || n > int64(len(elements)) || levels.definition > maxDepth {
		return nil, errFooter
	}
	for range n {
		if len(elements) == 0 {
			return nil, errFooter
		}
		e, of := &elements[0], levels
		if prefix == "" && e.name == unnamedField {
			e.name = allocation.GPUDevices.Field()
		}
		switch e.repetition {
		case optionalElement:
			of.definition++
		case repeatedElement:
			of.definition, of.repetition = of.definition+1, of.repetition+1
		}
		if e.children != 0 {
			if elements, err = s.children(elements, of, prefix+e.name+"."); err != nil {
				return nil, err
			}
			continue
		}
		of.kind = parquet.Kind(e.kind)
		s.byPath[prefix+e.name] = len(s.leaves)
		s.leaves, elements = append(s.leaves, of), elements[1:]
	}
	return elements, nil
}
