package allocation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/labelnames"
)

// LabelMapping says which labels the aliases department, environment, owner, product and team stand for. An alias with
// several labels gives a name several parts. Aliases are in lower case.
type LabelMapping map[string][]string

// DefaultLabelMapping returns the mapping that is used when none is configured.
func DefaultLabelMapping() LabelMapping {
	return LabelMapping{
		"department": {"department"}, "environment": {"env"}, "owner": {"owner"}, "product": {"app"}, "team": {"team"},
	}
}

// keyKind is how a key finds its value in a row.
type keyKind uint8

const (
	keyProperty   keyKind = iota // the value of a string property
	keyController                // kind:name; only the name where the kind is unknown
	keyWorkload                  // the name of a controller of one kind
	keyService                   // the first service in sorted order
	keyLabel                     // the value of a label
	keyAnnotation                // the value of an annotation
	keyAlias                     // the value of a label, or else of the annotation of that name
	keyAll                       // nothing: all rows become one
	keyDerived                   // a property computed from others
	keyNodeClass                 // the instance type of the node, and whether it is a spot instance
	keyNodePool                  // the pool of the node
	keyBarePod                   // the pod, where it has no controller
)

// keyField describes a field that rows can be aggregated by.
type keyField struct {
	name     string // a name that ends in a colon is followed by a label's name
	kind     keyKind
	property Property
}

// keyFields are all such fields, in the order of the documentation.
var keyFields = []keyField{
	{"cluster", keyProperty, Cluster},
	{"node", keyProperty, NodeName},
	{"nodePool", keyNodePool, NodeName},
	{"namespace", keyProperty, Namespace},
	{"controllerKind", keyProperty, ControllerKind},
	{"controller", keyController, Controller},
	{"deployment", keyWorkload, Controller},
	{"statefulset", keyWorkload, Controller},
	{"daemonset", keyWorkload, Controller},
	{"job", keyWorkload, Controller},
	{"service", keyService, Services},
	{"pod", keyProperty, Pod},
	{"uid", keyProperty, PodUID},
	{"container", keyProperty, Container},
	{"all", keyAll, 0},
	{"department", keyAlias, Labels},
	{"environment", keyAlias, Labels},
	{"owner", keyAlias, Labels},
	{"product", keyAlias, Labels},
	{"team", keyAlias, Labels},
	{"label:", keyLabel, Labels},
	{"annotation:", keyAnnotation, Annotations},
}

// KeyNames returns the fields that ParseKeys knows, in the order of the documentation; label and annotation take a name after
// their colon.
func KeyNames() []string {
	names := make([]string, len(keyFields))
	for i := range keyFields {
		names[i] = keyFields[i].name
		if strings.HasSuffix(names[i], ":") {
			names[i] += "<name>"
		}
	}
	return names
}

// Key is a field that rows are aggregated by. ParseKeys makes it; the zero value is the cluster.
type Key struct {
	kind     keyKind
	property Property
	field    string          // as documented, without a colon
	kindName string          // the controller kind of a keyWorkload
	label    labelnames.Name // of a label or an annotation, or what an alias stands for
	derived  *Derived
}

// String returns the key as ParseKeys reads it; for an alias, the alias.
func (k Key) String() string {
	if k.kind == keyLabel || k.kind == keyAnnotation {
		return k.field + ":" + k.label.String()
	}
	return k.field
}

// Derived returns the derived property of the key, nil if it has none.
func (k Key) Derived() *Derived { return k.derived }

// Needs returns the properties that the key reads.
func (k Key) Needs() *Projection {
	switch k.kind {
	case keyAll:
		return OfRows(nil)
	case keyController, keyWorkload:
		return OfRows([]Property{ControllerKind, Controller})
	case keyAlias:
		return OfRows([]Property{Labels, Annotations})
	case keyNodeClass, keyNodePool:
		return NodePoolNeeds()
	case keyBarePod:
		return OfRows([]Property{Controller, Pod})
	case keyDerived:
		return k.derived.Needs()
	case keyProperty, keyService, keyLabel, keyAnnotation:
	}
	return OfRows([]Property{k.property})
}

// OfNodePools reports whether the key is the pool of nodes.
func (k Key) OfNodePools() bool { return k.kind == keyNodePool }

// UnitKeys returns the keys of the units that a change of cost is explained by (SEMANTICS §9): cluster, namespace, kind and name
// of the controller, pod where there is no controller, and container. The last key is the class of nodes that the unit ran on.
func UnitKeys() []Key {
	keys := make([]Key, 0, 7)
	for _, p := range [...]Property{Cluster, Namespace, ControllerKind, Controller} {
		keys = append(keys, Key{kind: keyProperty, property: p, field: p.String()})
	}
	return append(keys, Key{kind: keyBarePod, property: Pod, field: "barePod"}, Key{kind: keyProperty, property: Container, field: Container.String()},
		Key{kind: keyNodeClass, property: NodeName, field: "nodeClass"})
}

// InstanceKeys returns the keys of a set that is not aggregated: cluster, node, namespace, pod and container.
func InstanceKeys() []Key {
	keys := make([]Key, 0, 5)
	for _, p := range [...]Property{Cluster, NodeName, Namespace, Pod, Container} {
		keys = append(keys, Key{kind: keyProperty, property: p, field: p.String()})
	}
	return keys
}

// maxAggregateFields is the most fields that an aggregation may have.
const maxAggregateFields = 100

// AggregateFields splits a comma-separated list of at most maxAggregateFields fields.
func AggregateFields(aggregate string) ([]string, error) {
	if n := strings.Count(aggregate, ",") + 1; n > maxAggregateFields {
		return nil, fmt.Errorf("parse aggregate: it has %d fields, at most %d are allowed: name fewer", n, maxAggregateFields)
	}
	fields := strings.Split(aggregate, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

// ParseKeys reads a comma-separated list of fields, such as `namespace,label:app`. Case matters in the names of labels and
// annotations, but not in those of fields. mapping says what aliases stand for; nil is the default mapping. derived are
// further fields, which win over aliases. An empty list gives no keys: the set then keeps one row for each container. A
// repeated field is an error; so is an unknown one, and the error names the fields that exist and the nearest of them.
func ParseKeys(aggregate string, mapping LabelMapping, derived ...*Derived) ([]Key, error) {
	if strings.TrimSpace(aggregate) == "" {
		return nil, nil
	}
	if mapping == nil {
		mapping = DefaultLabelMapping()
	}
	items, err := AggregateFields(aggregate)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for i, item := range items {
		got, err := parseKey(item, mapping, derived)
		if err != nil {
			return nil, fmt.Errorf("parse aggregate %q: field %d: %w", aggregate, i+1, err)
		}
		if slices.Contains(keys, got[0]) {
			return nil, fmt.Errorf("parse aggregate %q: field %d: %s is there already: name it once", aggregate, i+1, got[0])
		}
		keys = append(keys, got...)
	}
	return KeysAmong(keys, labelnames.Names{}), nil
}

// KeysAmong returns keys that know the labels that were asked for or configured elsewhere, besides their own.
func KeysAmong(keys []Key, known labelnames.Names) []Key {
	known = known.And(labelTexts(keys)...)
	out := slices.Clone(keys)
	for i := range out {
		if text := out[i].label.String(); text != "" {
			out[i].label = known.Name(text)
		}
	}
	return out
}

// labelTexts returns the names of the labels and annotations of keys.
func labelTexts(keys []Key) []string {
	var texts []string
	for i := range keys {
		if text := keys[i].label.String(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func parseKey(item string, mapping LabelMapping, derived []*Derived) ([]Key, error) {
	for _, d := range derived {
		if strings.EqualFold(d.name, item) {
			return []Key{{kind: keyDerived, field: d.name, derived: d}}, nil
		}
	}
	head, name, named := strings.Cut(item, ":")
	field := strings.ToLower(strings.TrimSpace(head))
	if named {
		field += ":"
	}
	i := slices.IndexFunc(keyFields, func(f keyField) bool { return strings.EqualFold(f.name, field) })
	if i < 0 {
		return nil, unknownKey(item, field, derived)
	}
	f := keyFields[i]
	key := Key{kind: f.kind, property: f.property, field: strings.TrimSuffix(f.name, ":")}
	switch f.kind {
	case keyWorkload:
		key.kindName = field
	case keyLabel, keyAnnotation:
		if name = strings.TrimSpace(name); name == "" {
			return nil, fmt.Errorf("%q lacks a name: write %sapp", item, f.name)
		}
		key.label = labelnames.NewName(name)
	case keyAlias:
		labels := mapping[field]
		if len(labels) == 0 {
			return nil, fmt.Errorf("%q stands for no label: map it to one in the configuration", item)
		}
		keys := make([]Key, len(labels))
		for i, label := range labels {
			keys[i] = key
			keys[i].label = labelnames.NewName(label)
		}
		return keys, nil
	case keyProperty, keyController, keyService, keyAll, keyDerived, keyNodeClass, keyNodePool, keyBarePod:
	}
	return []Key{key}, nil
}

// unknownKey returns the error for an unknown field.
func unknownKey(item, field string, derived []*Derived) error {
	names := KeyNames()
	for _, d := range derived {
		names = append(names, d.name)
	}
	if item == "" {
		return fmt.Errorf("it is empty: remove the comma, or use one of %s", strings.Join(names, ", "))
	}
	hint := ""
	bare := make([]string, len(names))
	for i := range names {
		bare[i] = strings.TrimSuffix(names[i], ":<name>")
	}
	if i := slices.Index(bare, caret.Nearest(strings.TrimSuffix(field, ":"), bare)); i >= 0 {
		hint = fmt.Sprintf(" (did you mean %q?)", names[i])
	}
	return fmt.Errorf("unknown field %q%s: use one of %s", item, hint, strings.Join(names, ", "))
}
