package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/promcost/promcost/allocation/caret"
)

// Resource is the kind of object that selectors select.
type Resource uint8

// The resources.
const (
	Allocations Resource = iota
	Assets
	numResources
)

// String is the resource's name in the plural.
func (r Resource) String() string { return [numResources]string{"allocations", "assets"}[r] }

// ParseLabelSelector reads a label selector of Kubernetes, such as app=web,tier in (a,b),!canary. Keys find labels in
// any spelling, as in Comparison. Errors are of type *SyntaxError, except the error for a selector that is too long.
func ParseLabelSelector(text string) (Expr, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, labelError(text, err)
	}
	return &LabelSelector{selector, text}, nil
}

func checkLength(text string) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("the selector is %d bytes long, at most %d are allowed: shorten it", len(text), MaxBytes)
	}
	return nil
}

// Selectable has the fields that field selectors may name. A Selectable must not be changed once it has parsed selectors.
type Selectable struct {
	fields [numResources][]leaf
}

// MaxSelectable is how many fields may be added for a resource.
const MaxSelectable = 8

// NewSelectable returns the fields that can be selected by without being declared.
func NewSelectable() *Selectable {
	s := &Selectable{}
	for r := range s.fields {
		for _, l := range leavesOf(Resource(r)) {
			if l.declared {
				s.fields[r] = append(s.fields[r], l)
			}
		}
	}
	return s
}

// Add declares another field by its JSON path, such as .spec.providerID, for each of the resources that has it, by the
// rules of Kubernetes for custom resources: a simple path to a string, a boolean or an integer, not in the metadata, once,
// and at most MaxSelectable of them a resource. An error leaves everything as it was.
func (s *Selectable) Add(path string, resources ...Resource) error {
	if err := checkSimple(path); err != nil {
		return err
	}
	if path == ".metadata" || strings.HasPrefix(path, ".metadata.") {
		return fmt.Errorf("jsonPath %q is metadata: metadata.name and metadata.namespace can be selected by anyway, other metadata cannot: leave it out", path)
	}
	var added []Resource
	there := false
	for _, r := range resources {
		i := slices.IndexFunc(leavesOf(r), func(l leaf) bool { return l.path == path })
		switch {
		case i < 0:
		case !leavesOf(r)[i].kind.selectable():
			return fmt.Errorf("jsonPath %q of %s is %s: give the path of a string, a boolean or an integer", path, r, leavesOf(r)[i].kind)
		case slices.ContainsFunc(s.fields[r], func(have leaf) bool { return have.path == path }):
			there = true
		case s.extra(r) == MaxSelectable:
			return fmt.Errorf("jsonPath %q is one too many for %s: at most %d may be declared: leave some out", path, r, MaxSelectable)
		default:
			added = append(added, r)
		}
	}
	switch {
	case len(added) == 0 && there:
		return fmt.Errorf("jsonPath %q is there already: name it once, and none of those that need no declaration", path)
	case len(added) == 0:
		return unknownPath(path, resources)
	}
	for _, r := range added {
		leaves := leavesOf(r)
		s.fields[r] = append(s.fields[r], leaves[slices.IndexFunc(leaves, func(l leaf) bool { return l.path == path })])
	}
	return nil
}

// extra is how many fields were added for a resource.
func (s *Selectable) extra(r Resource) int {
	n := 0
	for _, l := range s.fields[r] {
		if !l.declared {
			n++
		}
	}
	return n
}

// checkSimple checks that a path is made of names behind dots.
func checkSimple(path string) error {
	if strings.ContainsAny(path, "[]*") {
		return fmt.Errorf("jsonPath %q indexes an array or a map: give a simple path such as .spec.providerID", path)
	}
	names := strings.Split(path, ".")
	simple := len(names) > 1 && names[0] == ""
	for _, name := range names[min(1, len(names)):] {
		simple = simple && name != "" && strings.Trim(name, nameBytes) == ""
	}
	if !simple {
		return fmt.Errorf("jsonPath %q is no simple path: give names behind dots, such as .spec.providerID", path)
	}
	return nil
}

// nameBytes are the characters of names in a simple path.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// unknownPath is the error for a path that no resource has.
func unknownPath(path string, resources []Resource) error {
	var known []string
	for _, r := range resources {
		for _, declarable := range Declarable(r) {
			if !slices.Contains(known, declarable) {
				known = append(known, declarable)
			}
		}
	}
	hint := ""
	if like := caret.Nearest(path, known); like != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", like)
	}
	return fmt.Errorf("jsonPath %q leads to nothing%s: use one of %s", path, hint, strings.Join(known, ", "))
}

// Fields returns the names that selectors of a resource may use, metadata first.
func (s *Selectable) Fields(r Resource) []string {
	names := make([]string, len(s.fields[r]))
	for i, l := range s.fields[r] {
		names[i] = l.path[1:]
	}
	return names
}

// Parse reads a field selector of Kubernetes, such as spec.node=n1,metadata.namespace!=kube-system. Fields that are missing
// are "". A field that is not selectable is an error. Errors are of type *SyntaxError, except the error for a selector that is too long.
func (s *Selectable) Parse(r Resource, text string) (Expr, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	var all And
	for _, term := range fieldTerms(text) {
		selector, err := fields.ParseSelector(term.text)
		if err != nil {
			return nil, fieldError(text, term, err)
		}
		for _, requirement := range selector.Requirements() {
			name := strings.TrimSpace(requirement.Field)
			i := slices.IndexFunc(s.fields[r], func(l leaf) bool { return l.path[1:] == name })
			if i < 0 {
				at := term.offset + strings.Index(term.text, name)
				return nil, &SyntaxError{What: "field selector", Text: text, Offset: at, Detail: s.unsupported(r, name).Error()}
			}
			c := &Comparison{Field: s.fields[r][i].field, Op: Equal, Values: []string{requirement.Value}}
			if requirement.Operator == selection.NotEquals {
				c.Op = NotEqual
			}
			all = append(all, c)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// unsupported is the error for a field that is not selectable, in Kubernetes' words.
func (s *Selectable) unsupported(r Resource, name string) error {
	known := s.Fields(r)
	hint := ""
	if like := caret.Nearest(name, known); like != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", like)
	}
	if slices.ContainsFunc(leavesOf(r), func(l leaf) bool { return l.path[1:] == name && l.kind.selectable() }) {
		return errors.New("field label not supported: " + name + ": declare it as selectableFields in the configuration, or use one of " + strings.Join(known, ", "))
	}
	return errors.New("field label not supported: " + abridge(name) + hint + ": use one of " + strings.Join(known, ", "))
}

// Declarable are the JSON paths that Add takes for a resource, in the order of the documentation.
func Declarable(r Resource) []string {
	var paths []string
	for _, l := range leavesOf(r) {
		if l.kind.selectable() && !l.declared {
			paths = append(paths, l.path)
		}
	}
	return paths
}
