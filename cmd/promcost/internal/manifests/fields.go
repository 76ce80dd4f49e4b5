package manifests

import (
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

	expression string // of the chart's templates; "" where it is not in the chart
	given      bool   // by the chart itself, so not one of its values
	tag        reflect.StructTag
}

// Fields are the fields that hold values, in their order.
func (v *Values) Fields() []Field { return fieldsOf(reflect.ValueOf(v).Elem(), "", true) }

// fieldsOf are the fields of a struct below a path.
func fieldsOf(v reflect.Value, path string, chart bool) (out []Field) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		here := strings.TrimPrefix(path+"."+name, ".")
		inChart := chart && f.Tag.Get("sidecar") == ""
		if f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(v.Field(i), here, inChart)...)
			continue
		}
		x := Field{Path: here, Flag: kebab(strings.TrimSuffix(here, ".enabled")), Help: f.Tag.Get("help"), Value: v.Field(i).Addr().Interface(), tag: f.Tag}
		if f.Tag.Get("flag") != "" {
			x.Flag = strings.Trim(f.Tag.Get("flag"), "-")
		}
		if kind := f.Type.Kind(); kind == reflect.Map || kind == reflect.Slice {
			x.Flag = ""
		}
		switch given := f.Tag.Get("helm"); {
		case given != "":
			x.Path = strings.ToLower(f.Name)
			x.Flag, x.given, x.expression = x.Path, true, given
		case inChart:
			x.expression = ".Values." + here
		}
		out = append(out, x)
	}
	return out
}

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

// enum are the texts that the field may have; none where any.
func (f *Field) enum() []string {
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

// check says what is wrong with the field's value.
func (f *Field) check() error {
	switch v := f.Value.(type) {
	case *string:
		if all := f.enum(); all != nil && !slices.Contains(all, *v) {
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
