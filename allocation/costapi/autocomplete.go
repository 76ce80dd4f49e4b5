package costapi

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
)

// completion is a field whose values a client can list.
type completion struct {
	name  string                 // a name that ends in a colon is followed by the name of a label
	label string                 // the name of that label
	alias string                 // another name of the field
	needs *allocation.Projection // the data that rows reads
	run   bool                   // whether only rows that run have it: a volume that nobody mounts has no pod
	// rows and assets call add with the values of a row or an asset.
	rows   func(c *completion, s *allocation.Set, row int, add func(string))
	bind   func(s *allocation.Set) (func(row int) string, error) // in place of rows
	assets func(c *completion, a *allocation.Asset, add func(string))
}

// completionFields are the fields of allocations.
func completionFields() []completion {
	text := func(name string, p allocation.Property) completion {
		return propertyCompletion(name, p, func(_ *completion, s *allocation.Set, row int, add func(string)) { add(s.Text(p, row)) })
	}
	pod, container := text("pod", allocation.Pod), text("container", allocation.Container)
	pod.run, container.run = true, true
	return []completion{
		{name: "account", needs: allocation.OfRows(nil), rows: func(*completion, *allocation.Set, int, func(string)) {}}, // always unknown
		text("cluster", allocation.Cluster),
		text("namespace", allocation.Namespace),
		text("node", allocation.NodeName),
		{name: "nodePool", needs: allocation.NodePoolNeeds(), bind: (*allocation.Set).NodePools},
		text("controllerKind", allocation.ControllerKind),
		text("controllerName", allocation.Controller),
		pod,
		container,
		propertyCompletion("service", allocation.Services, addServices),
		propertyCompletion("label", allocation.Labels, addKeys(allocation.Labels)),
		propertyCompletion("namespaceLabel", allocation.NamespaceLabels, addKeys(allocation.NamespaceLabels)),
		propertyCompletion("annotation", allocation.Annotations, addKeys(allocation.Annotations)),
		propertyCompletion("label:", allocation.Labels, addValues(allocation.Labels)),
		propertyCompletion("namespaceLabel:", allocation.NamespaceLabels, addValues(allocation.NamespaceLabels)),
		propertyCompletion("annotation:", allocation.Annotations, addValues(allocation.Annotations)),
	}
}

// propertyCompletion is a field with the values of a property.
func propertyCompletion(name string, p allocation.Property, rows func(c *completion, s *allocation.Set, row int, add func(string))) completion {
	return completion{name: name, needs: allocation.OfRows([]allocation.Property{p}), rows: rows}
}

func addServices(_ *completion, s *allocation.Set, row int, add func(string)) {
	for _, id := range s.List(allocation.Services, row) {
		add(s.Dict().Text(id))
	}
}

// addKeys adds the names of labels or annotations.
func addKeys(p allocation.Property) func(*completion, *allocation.Set, int, func(string)) {
	return func(_ *completion, s *allocation.Set, row int, add func(string)) {
		for _, pair := range s.Pairs(p, row) {
			add(s.Dict().Text(pair.Key))
		}
	}
}

// addValues adds the value of one label or annotation.
func addValues(p allocation.Property) func(*completion, *allocation.Set, int, func(string)) {
	return func(c *completion, s *allocation.Set, row int, add func(string)) {
		name := labelnames.NewName(c.label)
		for _, pair := range s.Pairs(p, row) {
			if name.Spells(s.Dict().Text(pair.Key)) {
				add(s.Dict().Text(pair.Value))
			}
		}
	}
}

// assetCompletionFields are the fields of assets.
func assetCompletionFields() []completion {
	text := func(get func(*allocation.Asset) string) func(*completion, *allocation.Asset, func(string)) {
		return func(_ *completion, a *allocation.Asset, add func(string)) { add(get(a)) }
	}
	return []completion{
		{name: "account", assets: text(func(a *allocation.Asset) string { return a.Account })},
		{name: "assetType", alias: "type", assets: text(func(a *allocation.Asset) string { return a.Type.String() })},
		{name: "category", assets: text(func(a *allocation.Asset) string { return a.Category })},
		{name: "cluster", assets: text(func(a *allocation.Asset) string { return a.Cluster })},
		{name: "name", assets: text(func(a *allocation.Asset) string { return a.Title })},
		{name: "nodePool", assets: text(func(a *allocation.Asset) string { return a.Pool })},
		{name: "project", assets: text(func(a *allocation.Asset) string { return a.Project })},
		{name: "provider", assets: text(func(a *allocation.Asset) string { return a.Provider })},
		{name: "providerID", assets: text(func(a *allocation.Asset) string { return a.ProviderID })},
		{name: "service", assets: text(func(a *allocation.Asset) string { return a.Service })},
		{name: "label", assets: func(_ *completion, a *allocation.Asset, add func(string)) {
			for name := range a.Labels {
				add(name)
			}
		}},
		{name: "label:", assets: func(c *completion, a *allocation.Asset, add func(string)) {
			name := labelnames.NewName(c.label)
			for key, value := range a.Labels {
				if name.Spells(key) {
					add(value)
				}
			}
		}},
	}
}

// of returns a function that calls add with the values of a row of the set.
func (c *completion) of(s *allocation.Set, add func(string)) (func(row int), error) {
	if c.bind == nil {
		return func(row int) { c.rows(c, s, row, add) }, nil
	}
	text, err := c.bind(s)
	return func(row int) { add(text(row)) }, err
}

// has reports whether rows of a kind can have values of the field.
func (c *completion) has(kind allocation.Special) bool {
	return kind == allocation.Workload || !c.run && kind != allocation.Idle && kind != allocation.Shared
}

// fieldNames are the names of the fields that are not followed by the name of a label.
func fieldNames(fields []completion) string {
	var names []string
	for _, f := range fields {
		if !strings.HasSuffix(f.name, ":") {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// parseField finds a field by its name in any case.
func parseField(fields []completion) func(*request, string) error {
	return func(q *request, value string) error {
		head, label, named := strings.Cut(value, ":")
		if named {
			head += ":"
		}
		var known []string
		for _, f := range slices.Concat(fields, q.derived(), q.aliases()) {
			known = append(known, f.name)
			if !strings.EqualFold(f.name, head) && (f.alias == "" || !strings.EqualFold(f.alias, head)) {
				continue
			}
			if f.label = strings.TrimSpace(label); named && f.label == "" {
				return errors.New("it lacks the name of a label: write label:app")
			}
			q.search.field = &f
			return nil
		}
		return unknownName("field", value, known)
	}
}

// derived are the fields for the derived properties of the configuration.
func (q *request) derived() []completion {
	var fields []completion
	if q.route.endpoint != completions {
		return nil
	}
	for _, d := range q.api.cfg.Derived {
		fields = append(fields, completion{name: d.Name(), needs: d.Needs(), rows: func(_ *completion, s *allocation.Set, row int, add func(string)) { add(d.Text(s, row)) }})
	}
	return fields
}

// aliases are the fields that stand for labels. A derived property of the same name takes precedence.
func (q *request) aliases() []completion {
	var fields []completion
	if q.route.endpoint != completions {
		return nil
	}
	for _, alias := range slices.Sorted(maps.Keys(q.api.cfg.Labels)) {
		needs := allocation.OfRows([]allocation.Property{allocation.Labels, allocation.Annotations})
		fields = append(fields, completion{name: alias, needs: needs, rows: func(_ *completion, s *allocation.Set, row int, add func(string)) {
			for _, label := range q.api.cfg.Labels[alias] {
				before := false
				for _, p := range [...]allocation.Property{allocation.Labels, allocation.Annotations} {
					if !before { // the annotation is used where the label is missing
						addValues(p)(&completion{label: label}, s, row, func(value string) {
							before = before || value != ""
							add(value)
						})
					}
				}
			}
		}})
	}
	return fields
}

// serveCompletion answers with the values that a field has in the allocations of a window: the values that filters can select.
// Volumes that nobody mounts are included.
func (a *api) serveCompletion(w http.ResponseWriter, q *request) error {
	sets, err := a.sets(q, q.timing.windows)
	if err != nil {
		return err
	}
	values, found := q.values(), false
	for _, s := range sets {
		selects := func(int) bool { return true }
		if q.options.Filter != nil {
			if selects, err = q.options.Filter.Bind(s); err != nil {
				return err
			}
		}
		for _, w := range s.Warnings { // what affects costs does not affect these values
			if t := notices.TopicOf(w); t != "" && q.concerns(t) && !slices.Contains(q.warnings, w) {
				q.warnings = append(q.warnings, w)
			}
		}
		valuesOf, err := q.search.field.of(s, values.add)
		if err != nil {
			return err
		}
		for row := range s.Len() {
			if q.search.field.has(s.Special(row)) && selects(row) {
				found = true
				valuesOf(row)
			}
		}
	}
	if !found {
		q.warnEmpty(sets, nil)
	}
	return a.writeValues(w, q, values)
}

// serveAssetCompletion answers with the values of a field of the assets of a window.
func (a *api) serveAssetCompletion(w http.ResponseWriter, q *request) error {
	sets, err := a.assetSets(q)
	if err != nil {
		return err
	}
	values := q.values()
	for _, s := range sets {
		for i := range s.Assets {
			q.search.field.assets(q.search.field, &s.Assets[i], values.add)
		}
	}
	return a.writeValues(w, q, values)
}

// valueSet collects the values that match a search.
type valueSet struct {
	search string           // in lower case
	name   *labelnames.Name // matches names of labels; nil if values are no names of labels
	seen   map[string]bool
	list   []string
}

func (q *request) values() *valueSet {
	v := &valueSet{search: strings.ToLower(q.search.text), seen: map[string]bool{}}
	if slices.Contains([]string{"label", "namespaceLabel", "annotation"}, q.search.field.name) {
		name := labelnames.NewName(q.search.text)
		v.name = &name
	}
	return v
}

// add adds a value if it matches the search.
func (v *valueSet) add(text string) {
	if text == "" || v.seen[text] {
		return
	}
	v.seen[text] = true
	if strings.Contains(strings.ToLower(text), v.search) || v.name != nil && v.name.Within(text) {
		v.list = append(v.list, text)
	}
}

// writeValues answers with the first values in sorted order.
func (a *api) writeValues(w http.ResponseWriter, q *request, values *valueSet) error {
	slices.Sort(values.list)
	w.Header().Set("Content-Type", jsonType)
	return encode.Values(w, values.list[:min(q.search.most, len(values.list))], a.encoding(q))
}
