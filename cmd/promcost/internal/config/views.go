package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// View is a saved view of the page, which everybody has.
type View struct {
	Name  string
	Query string // of the page's address, without the question mark
}

// Views, and the bytes of a name, that a config may have at most.
const (
	maxViews    = 100
	maxViewName = 100
)

// viewKeys are the keys of an element of views.
func viewKeys() []key[View] {
	return []key[View]{
		{"name", "text", "Name of the view, as the page lists it.", func(v *View, n *yaml.Node) (err error) {
			if v.Name, err = textOf(n, "name"); err == nil && len(v.Name) > maxViewName {
				err = atLine(n, "name has %d bytes, at most %d are allowed: give a shorter one", len(v.Name), maxViewName)
			}
			return err
		}},
		{"query", "parameters", "What stands behind the question mark in the page's address, such as view=why&window=lastweek.", func(v *View, n *yaml.Node) (err error) {
			if v.Query, err = textOf(n, "query"); err != nil {
				return err
			}
			if _, err := url.ParseQuery(v.Query); err != nil || strings.ContainsAny(v.Query, "?#") || strings.HasPrefix(v.Query, "/") {
				return atLine(n, "query is %q: give what stands behind the question mark in the page's address, such as view=why&window=lastweek", v.Query)
			}
			return nil
		}},
	}
}

// readViews reads the saved views. Each needs a name of its own and a query.
func (f *File) readViews(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "views is no list: begin each view with \"- name: \"")
	}
	if len(n.Content) > maxViews {
		return atLine(n, "views has %d elements, at most %d are allowed: leave some out", len(n.Content), maxViews)
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("views[%d]", i)
		var v View
		if err := readKeys(&v, what, item, viewKeys()); err != nil {
			return err
		}
		if v.Name == "" || v.Query == "" {
			return atLine(item, "%s lacks a key: give name and query", what)
		}
		if slices.ContainsFunc(f.Views, func(o View) bool { return o.Name == v.Name }) {
			return atLine(item, "%s has the name %q of another: give each its own", what, v.Name)
		}
		f.Views = append(f.Views, v)
	}
	return nil
}
