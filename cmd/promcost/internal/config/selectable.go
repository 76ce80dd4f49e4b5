package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation/filter"
)

// selectableField is an element of selectableFields.
type selectableField struct {
	path      string
	resources []filter.Resource // empty for all that have the path
}

// selectableKeys are the keys of an element of selectableFields.
func selectableKeys() []key[selectableField] {
	return []key[selectableField]{
		{"jsonPath", "path", "Path of a string, a boolean or an integer, such as .spec.providerID; names behind dots, no metadata.", func(s *selectableField, n *yaml.Node) (err error) {
			s.path, err = textOf(n, "jsonPath")
			return err
		}},
		{"resource", "allocations, assets", "Whose field it is. The default is every resource that has it.", func(s *selectableField, n *yaml.Node) error {
			text, err := textOf(n, "resource")
			if err != nil {
				return err
			}
			for _, r := range resources() {
				if r.String() == text {
					s.resources = []filter.Resource{r}
					return nil
				}
			}
			return atLine(n, "resource is %q, want allocations or assets", text)
		}},
	}
}

// resources are what field selectors select.
func resources() []filter.Resource { return []filter.Resource{filter.Allocations, filter.Assets} }

// readSelectable adds fields to those that field selectors know.
func (f *File) readSelectable(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "selectableFields is no list: begin each field with \"- jsonPath: \"")
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("selectableFields[%d]", i)
		field := selectableField{resources: resources()}
		if err := readKeys(&field, what, item, selectableKeys()); err != nil {
			return err
		}
		if field.path == "" {
			return atLine(item, "%s lacks a jsonPath: give one such as .spec.providerID", what)
		}
		if err := f.Selectable.Add(field.path, field.resources...); err != nil {
			return atLine(item, "%s: %w", what, err)
		}
	}
	return nil
}
