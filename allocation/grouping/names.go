package grouping

import "slices"

// Names numbers names in the order they come. The zero value is ready for use.
type Names struct {
	list []string
	ids  map[string]int32
}

// Add returns the number of a name, from 0.
func (t *Names) Add(name string) int32 {
	if id, ok := t.ids[name]; ok {
		return id
	}
	return t.insert(name)
}

// List has the names by number.
func (t *Names) List() []string { return t.list }

// insert adds a new name.
func (t *Names) insert(name string) int32 {
	if t.ids == nil {
		t.ids = make(map[string]int32)
	}
	id := int32(len(t.list))
	t.list, t.ids[name] = append(t.list, name), id
	return id
}

// grow makes room for n names, most of them new.
func (t *Names) grow(n int) {
	if t.ids == nil {
		t.ids = make(map[string]int32, n)
	}
	t.list = slices.Grow(t.list, n)
}

// addBytes is Add for a name that may change afterwards.
func (t *Names) addBytes(name []byte) int32 {
	if id, ok := t.ids[string(name)]; ok { // does not allocate
		return id
	}
	return t.insert(string(name))
}
