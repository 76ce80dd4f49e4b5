package kubeapi

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// field is a field that selectors may name. A comparison costs a call of value and a comparison of strings for each object; fields that a
// selector does not name cost nothing.
type field struct {
	path, help string
	// value is the field of an item; nil for those of the request: the window and the name with it.
	value func(it *item) string
}

// The paths that are special: they say which window is meant.
const (
	namePath   = "metadata.name"
	windowPath = "spec.window"
)

// maxRequirements is how many conditions a selector may have.
const maxRequirements = 100

// condition compares a field with a value.
type condition struct {
	value  func(it *item) string
	want   string
	differ bool
}

// selected says which items of which window a request selects. It is for one goroutine.
type selected struct {
	window, suffix string
	nothing        bool // the conditions contradict each other
	conditions     []condition
	labels         labels.Selector // nil selects everything
	looking        spelledLabels   // at the labels of the item that is being matched
}

// selects reads the selectors of a request. The API server has refused fields that the resource does not declare.
func (r *Resource) selects(o *internalversion.ListOptions) (*selected, error) {
	s := &selected{}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		requirements, _ := o.LabelSelector.Requirements()
		if len(requirements) > maxRequirements {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the label selector has %d conditions, at most %d are allowed", len(requirements), maxRequirements))
		}
		keys := make([]string, len(requirements))
		for i := range requirements {
			keys[i] = requirements[i].Key()
		}
		s.labels, s.looking.spellings = o.LabelSelector, spellingsOf(keys)
	}
	if r.windowed {
		s.window = DefaultWindow
	}
	if o.FieldSelector == nil {
		return s, nil
	}
	requirements := o.FieldSelector.Requirements()
	if len(requirements) > maxRequirements {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the field selector has %d conditions, at most %d are allowed", len(requirements), maxRequirements))
	}
	if r.windowed {
		if err := s.chooseWindow(requirements); err != nil {
			return nil, err
		}
	}
	for _, q := range requirements {
		if err := r.add(s, q.Field, q.Value, q.Operator == selection.NotEquals); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// chooseWindow finds the window that the conditions are about: that of spec.window, or of the one name, else the default.
func (s *selected) chooseWindow(requirements fields.Requirements) error {
	for _, path := range [...]string{namePath, windowPath} { // the latter wins
		for _, q := range requirements {
			if q.Field != path || q.Operator == selection.NotEquals {
				continue
			}
			if path == namePath {
				_, s.window, s.suffix = splitName(q.Value)
			} else if named := s.suffix; s.window != q.Value || named == "" {
				s.window, s.suffix = q.Value, suffixOf(q.Value)
			}
		}
	}
	if _, err := parseWindow(s.window); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// add adds a condition on a field.
func (r *Resource) add(s *selected, path, want string, differ bool) error {
	if path == windowPath && r.windowed {
		s.nothing = s.nothing || (s.window == want) == differ
		return nil
	}
	for i := range r.fields {
		f := &r.fields[i]
		if f.path != path {
			continue
		}
		if path == namePath && r.windowed {
			base, ok := strings.CutSuffix(want, s.suffix)
			if !ok || s.suffix == "" && strings.Contains(want, ":") { // the name of an object in another window
				s.nothing = s.nothing || !differ
				return nil
			}
			want = base
		}
		s.conditions = append(s.conditions, condition{f.value, want, differ})
		return nil
	}
	return apierrors.NewBadRequest(unsupported(path).Error())
}

// unsupported is the error for a field that selectors may not name, in Kubernetes' words.
func unsupported(path string) error { return fmt.Errorf("field label not supported: %s", path) }

// everything reports whether all items are selected.
func (s *selected) everything() bool { return !s.nothing && len(s.conditions) == 0 && s.labels == nil }

// matches reports whether an item is selected.
func (s *selected) matches(it *item) bool {
	if s.nothing {
		return false
	}
	for i := range s.conditions {
		c := &s.conditions[i]
		if (c.value(it) == c.want) == c.differ {
			return false
		}
	}
	if s.labels == nil {
		return true
	}
	s.looking.labelList = it.labels
	return s.labels.Matches(&s.looking)
}

// page are the indices of at most limit selected items (0: all) from an index on and within bounds, and how many items are left
// if there are more.
func (s *selected) page(snap *snapshot, between [2]int, from int, limit int64) (indices []int, rest int64) {
	for i := max(from, between[0]); i < between[1]; i++ {
		if !s.matches(&snap.items[i]) {
			continue
		}
		if limit > 0 && int64(len(indices)) == limit {
			return indices, int64(between[1] - i)
		}
		indices = append(indices, i)
	}
	return indices, 0
}
