package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// v1Kind is how an entry of a v1 filter reads.
type v1Kind uint8

const (
	v1Value      v1Kind = iota // value
	v1Controller               // name, or kind:name
	v1Pair                     // name:value of a label or annotation
	v1Alias                    // value of the label of an alias
)

// v1Filter is a row of v1Filters.
type v1Filter struct {
	name  string
	kind  v1Kind
	field Field
	alias string
	what  string
}

// v1Filters are Kubecost's first filters, in the order of its documentation, and one of pools of nodes.
var v1Filters = []v1Filter{
	{"filterClusters", v1Value, Cluster, "", "clusters"},
	{"filterNodes", v1Value, Node, "", "nodes"},
	{"filterNodePools", v1Value, NodePool, "", "pools of nodes"},
	{"filterNamespaces", v1Value, Namespace, "", "namespaces"},
	{"filterControllerKinds", v1Value, ControllerKind, "", "kinds of controllers, such as deployment"},
	{"filterControllers", v1Controller, ControllerName, "", "controllers, by name or as kind:name"},
	{"filterPods", v1Value, Pod, "", "pods"},
	{"filterContainers", v1Value, Container, "", "containers"},
	{"filterAnnotations", v1Pair, Annotation, "", "annotations, as name:value"},
	{"filterLabels", v1Pair, Label, "", "labels, as name:value"},
	{"filterServices", v1Value, Services, "", "services"},
	{"filterDepartments", v1Alias, Label, "department", "departments"},
	{"filterEnvironments", v1Alias, Label, "environment", "environments"},
	{"filterOwners", v1Alias, Label, "owner", "owners"},
	{"filterProducts", v1Alias, Label, "product", "products"},
	{"filterTeams", v1Alias, Label, "team", "teams"},
}

// V1Filter names one of Kubecost's first filter parameters.
type V1Filter struct {
	Name string // of the parameter
	What string // its entries are, in the plural
}

// V1Filters are the parameters that V1 knows, in the order of their documentation.
func V1Filters() []V1Filter {
	list := make([]V1Filter, len(v1Filters))
	for i, f := range v1Filters {
		list[i] = V1Filter{f.name, f.what}
	}
	return list
}

// V1 is the condition of a v1 filter parameter, such as filterNamespaces=kube-system,web*. Entries are separated by commas,
// with white space around them; one of them has to match. A * at the end of one stands for any rest. filterControllers
// takes kind:name, too; filterLabels and filterAnnotations take name:value, divided at the first colon; an entry without
// a colon is an error. The options say which label or annotation an alias means; the label wins if there are both. Make
// the Filter with the same options. A list without entries holds everywhere. An unknown name is an error; entries that are wrong give
// a *SyntaxError.
func V1(name, list string, opts ...Option) (Expr, error) {
	i := slices.IndexFunc(v1Filters, func(f v1Filter) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("parse filter: unknown v1 filter %q", name)
	}
	f := v1Filters[i]
	var v vocabulary
	for _, opt := range opts {
		opt(&v)
	}
	return v1Entries(list, func(entry string) (Expr, error) {
		switch f.kind {
		case v1Controller:
			return v1ControllerEntry(entry), nil
		case v1Pair:
			return v1PairEntry(f.field, entry)
		case v1Alias:
			if alias := Field(f.alias); !v.computes(alias) && len(v.labelsOf(alias)) == 0 {
				return nil, fmt.Errorf("%s stands for no label: map it to one in the configuration", alias)
			}
			return wildcard(Field(f.alias), "", entry), nil
		case v1Value:
		}
		return wildcard(f.field, "", entry), nil
	})
}

// wildcard compares a field with a value, or with a prefix where that ends in a *.
func wildcard(field Field, key, value string) *Comparison {
	if prefix, ok := strings.CutSuffix(value, "*"); ok {
		return &Comparison{Field: field, Key: key, Op: Prefix, Values: []string{prefix}}
	}
	return &Comparison{Field: field, Key: key, Op: Equal, Values: []string{value}}
}

// v1ControllerEntry is name or kind:name.
func v1ControllerEntry(entry string) Expr {
	kind, name, ok := strings.Cut(entry, ":")
	if !ok {
		return wildcard(ControllerName, "", entry)
	}
	return And{wildcard(ControllerKind, "", strings.TrimSpace(kind)), wildcard(ControllerName, "", strings.TrimSpace(name))}
}

// v1PairEntry is name:value.
func v1PairEntry(field Field, entry string) (Expr, error) {
	key, value, ok := strings.Cut(entry, ":")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return nil, fmt.Errorf("%q lacks a name or a value: write name:value, such as app:web", abridge(entry))
	}
	return wildcard(field, key, strings.TrimSpace(value)), nil
}

// Shared is an entry of a list of shared things.
type Shared struct {
	Expr Expr
	Name string // in a breakdown: the namespace, or label=value
	Text string // as it was given
}

// Sharing reads the entries of shareNamespaces or shareLabels, a list as those of V1. Entries that are wrong give a *SyntaxError.
func Sharing(parameter, list string) ([]Shared, error) {
	var all []Shared
	err := eachEntry(list, func(entry string) (err error) {
		s := Shared{wildcard(Namespace, "", entry), entry, entry}
		if parameter == "shareLabels" {
			key, value, _ := strings.Cut(entry, ":")
			s.Name = strings.TrimSpace(key) + "=" + strings.TrimSpace(value)
			s.Expr, err = v1PairEntry(Label, entry)
		} else if parameter != "shareNamespaces" {
			err = errors.New("unknown kind of sharing " + parameter)
		}
		all = append(all, s)
		return err
	})
	return all, err
}
