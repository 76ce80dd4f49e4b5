package manifests

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Field is one field of values.
type Field struct {
	Path  string // as in values.yaml, such as storage.size
	Flag  string // of the command line; "" where it is not there, as mappings and lists are not
	Help  string
	Value any // a pointer to it

	name        string // the last part of the path
	section     string // what comes before it, "" for nothing
	sectionHelp string
	release     bool // Helm knows it of the release; it is not one of the chart's values
	tag         reflect.StructTag
}

// Fields are the fields that hold values, in their order.
func (v *Values) Fields() []Field { return fieldsOf(reflect.ValueOf(v).Elem(), "", "") }

// fieldsOf are the fields of a struct, or of the section of it that has this name and this help.
func fieldsOf(v reflect.Value, section, help string) (out []Field) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(v.Field(i), name, f.Tag.Get("help"))...)
			continue
		}
		path := strings.TrimPrefix(section+"."+name, ".")
		x := Field{
			Path: path, Flag: kebab(strings.TrimSuffix(path, ".enabled")), Help: f.Tag.Get("help"), Value: v.Field(i).Addr().Interface(), tag: f.Tag,
			name: name, section: section, sectionHelp: help, release: name == "-",
		}
		if own := f.Tag.Get("flag"); own != "" {
			x.Flag = strings.Trim(own, "-")
		}
		if kind := f.Type.Kind(); kind == reflect.Map || kind == reflect.Slice {
			x.Flag = ""
		}
		if x.release {
			x.Path = strings.ToLower(f.Name)
			x.Flag = x.Path
		}
		out = append(out, x)
	}
	return out
}

// byName are the values by name and by section, as Helm gives them to templates: all numbers are floats.
func (v *Values) byName() (values map[string]any, err error) {
	all := map[string]any{}
	for _, f := range v.Fields() {
		if f.release {
			continue
		}
		in := all
		if f.section != "" {
			if all[f.section] == nil {
				all[f.section] = map[string]any{}
			}
			in = all[f.section].(map[string]any)
		}
		in[f.name] = reflect.ValueOf(f.Value).Elem().Interface()
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("read the values: %w: keys of mappings must be texts", err)
	}
	return values, json.Unmarshal(text, &values)
}

// sidecarSection is what a chart has not: it cannot change the objects of others.
const sidecarSection = "sidecar"

// kebab writes podDisruptionBudget as pod-disruption-budget.
func kebab(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(rune(camel[i-1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Enum are the texts that the field may have; none where any.
func (f *Field) Enum() []string {
	if f.tag.Get("enum") == "" {
		return nil
	}
	return strings.Split(f.tag.Get("enum"), ",")
}

// bounds are the least and the most that a number may be.
func (f *Field) bounds() (least, most int) {
	if _, err := fmt.Sscanf(f.tag.Get("range"), "%d,%d", &least, &most); err != nil {
		panic("BUG: " + f.Path + " is a number without a range")
	}
	return least, most
}

// json is the field's value as JSON, in which mappings and lists that are not given are empty.
func (f *Field) json() (string, error) {
	switch v := reflect.ValueOf(f.Value).Elem(); {
	case v.Kind() == reflect.Map && v.Len() == 0:
		return "{}", nil
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return "[]", nil
	}
	text, err := json.Marshal(f.Value)
	return string(text), err
}

// check says what is wrong with the field's value.
func (f *Field) check() error {
	switch v := f.Value.(type) {
	case *string:
		if all := f.Enum(); all != nil && !slices.Contains(all, *v) {
			return fmt.Errorf("%s is %q: it must be one of %s", f.Path, *v, strings.Join(all, ", "))
		}
		if pattern := f.tag.Get("pattern"); pattern != "" && !regexp.MustCompile(pattern).MatchString(*v) {
			return fmt.Errorf("%s is %q: it must match %s", f.Path, *v, pattern)
		}
	case *int:
		if least, most := f.bounds(); *v < least || *v > most {
			return fmt.Errorf("%s is %d: it must be a whole number from %d to %d", f.Path, *v, least, most)
		}
	}
	return nil
}
