package kubeapi

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/promcost/promcost/allocation/labelnames"
)

// item is what an object is made of when it is asked for. Items do not change.
type item struct {
	namespace, name string // the name without a window
	labels          labelList
	body            any // *allocationBody, *clusterAllocationBody or *assetBody: the rest of the object
}

// label is a label of an object.
type label struct{ key, value string }

// labelList is the labels of an object by key, in less memory than a map takes.
type labelList []label

// newLabels is a list of labels whose texts are shared with other lists.
func newLabels(m map[string]string, texts *texts) labelList {
	list := make(labelList, 0, len(m))
	for k, v := range m {
		list = append(list, label{texts.share(k), texts.share(v)})
	}
	slices.SortFunc(list, func(a, b label) int { return cmp.Compare(a.key, b.key) })
	return list
}

// find is the value of a key.
func (l labelList) find(key string) (value string, ok bool) {
	for i := range l {
		if l[i].key == key {
			return l[i].value, true
		}
	}
	return "", false
}

// object is the list as a map.
func (l labelList) object() map[string]string {
	if len(l) == 0 {
		return nil
	}
	m := make(map[string]string, len(l))
	for _, kv := range l {
		m[kv.key] = kv.value
	}
	return m
}

// spelledLabels are labels as selectors see them: a key finds the label in whatever way an exporter spells it. It is for the keys that
// it has the spellings of.
type spelledLabels struct {
	labelList
	spellings map[string][]string
}

// spellingsOf are the ways in which exporters spell keys.
func spellingsOf(keys []string) map[string][]string {
	m := make(map[string][]string, len(keys))
	for _, key := range keys {
		m[key] = append([]string{key}, labelnames.Spellings(key)...)
	}
	return m
}

// Lookup implements labels.Labels.
func (l *spelledLabels) Lookup(key string) (value string, ok bool) {
	for _, spelled := range l.spellings[key] {
		if value, ok = l.find(spelled); ok {
			return value, true
		}
	}
	return "", false
}

// Has implements labels.Labels.
func (l *spelledLabels) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get implements labels.Labels.
func (l *spelledLabels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// compareItems orders items by namespace and name.
func compareItems(a, b item) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// texts shares equal strings, so that they are in memory once.
type texts struct {
	known map[string]string
	bytes int64 // of what is shared
}

// share is an equal string.
func (t *texts) share(s string) string {
	if known, ok := t.known[s]; ok {
		return known
	}
	s = strings.Clone(s)
	t.known[s] = s
	t.bytes += int64(len(s)) + 48 // with its place in the map
	return s
}

// shareAll shares the strings of a list.
func (t *texts) shareAll(list []string) []string {
	for i := range list {
		list[i] = t.share(list[i])
	}
	return list
}

// snapshot is the items of a resource in a window of the newest closed hour, in order.
type snapshot struct {
	key     key
	version int64 // Unix time of the end of the hour
	items   []item
	// warnings are promcost's, for those who may see all of the cluster; notices are for everyone.
	warnings, notices []string
	bytes             int64 // an estimate
}

// key says what a snapshot is of.
type key struct {
	resource  string
	window    string // "" for resources without one
	namespace string // "" for all
}

// meta is the metadata of an item's object.
func (s *snapshot) meta(it *item, suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: it.namespace, Name: it.name + suffix, ResourceVersion: versionText(s.version), Labels: it.labels.object()}
}
