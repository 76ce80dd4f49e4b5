package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// File is a file by name, with slashes.
type File struct {
	Name string
	Text []byte
}

// writer writes trees as YAML, or as templates of a chart where it knows expressions.
type writer struct {
	lines []string
	// expressions are how templates read fields, by pointer. Nil writes the fields' values.
	expressions map[any]string
	program     *Program
	files       map[string][]byte // that templates read
}

// yaml is the text of documents, without those whose conditions do not hold.
func (w *writer) yaml(docs []document) []byte {
	for _, d := range docs {
		if slices.ContainsFunc(d.conditions, func(c condition) bool { return !c.holds() }) {
			continue
		}
		if len(w.lines) > 0 {
			w.line(0, "---")
		}
		w.elements(0, d.body)
	}
	return w.bytes()
}

func (w *writer) bytes() []byte { return []byte(strings.Join(w.lines, "\n") + "\n") }

func (w *writer) line(indent int, text string) {
	w.lines = append(w.lines, strings.Repeat(" ", indent)+text)
}

// elements writes the elements of an object or a list.
func (w *writer) elements(indent int, elements []any) {
	for _, e := range elements {
		switch e := e.(type) {
		case []any: // several
			w.elements(indent, e)
		case when:
			w.when(indent, e)
		case spread:
			w.spread(indent, e.field)
		case given:
			w.given(indent, e)
		case entry:
			w.entry(indent, e)
		default:
			w.item(indent, e)
		}
	}
}

func (w *writer) when(indent int, e when) {
	switch {
	case w.expressions != nil:
		w.line(0, "{{- if "+w.condition(e.condition)+" }}")
		w.elements(indent, e.elements)
		w.line(0, "{{- end }}")
	case e.holds():
		w.elements(indent, e.elements)
	}
}

// entry writes a key and its value.
func (w *writer) entry(indent int, e entry) {
	key := w.scalar(e.key) + ":"
	inner := &writer{expressions: w.expressions, program: w.program, files: w.files}
	switch v := e.value.(type) {
	case object:
		inner.elements(indent+2, v)
	case list:
		inner.elements(indent+2, v)
	case fileYAML:
		inner.fileYAML(indent+2, v.file)
	case fileText:
		w.fileText(indent, key, v)
		return
	default:
		w.value(indent, key, v)
		return
	}
	if len(inner.lines) == 0 {
		empty := " []"
		if _, ok := e.value.(object); ok {
			empty = " {}"
		}
		w.line(indent, key+empty)
		return
	}
	w.line(indent, key)
	w.lines = append(w.lines, inner.lines...)
}

// item writes an element of a list. The first element of an object there has no condition.
func (w *writer) item(indent int, v any) {
	o, ok := v.(object)
	if !ok {
		w.value(indent, "-", v)
		return
	}
	inner := &writer{expressions: w.expressions, program: w.program, files: w.files}
	inner.elements(indent+2, o)
	inner.lines[0] = strings.Repeat(" ", indent) + "- " + inner.lines[0][indent+2:]
	w.lines = append(w.lines, inner.lines...)
}

// value writes a leaf after what comes before it on its line.
func (w *writer) value(indent int, before string, v any) {
	if s, ok := v.(*string); ok && w.expressions == nil && isBlock(*s) {
		w.block(indent, before, *s)
		return
	}
	w.line(indent, before+" "+w.scalar(v))
}

// spread writes the elements of a field that is a mapping or a list.
func (w *writer) spread(indent int, field any) {
	v := reflect.ValueOf(field).Elem()
	if w.expressions != nil {
		if v.Kind() == reflect.Map {
			w.line(0, "{{- range $key, $value := "+w.expressions[field]+" }}")
			w.line(indent, "{{ toJson $key }}: {{ toJson $value }}")
		} else {
			w.line(0, "{{- range "+w.expressions[field]+" }}")
			w.line(indent, "- {{ toJson . }}")
		}
		w.line(0, "{{- end }}")
		return
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			w.line(indent, "- "+asJSON(v.Index(i).Interface()))
		}
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		w.line(indent, plain(key.String())+": "+scalarOf(v.MapIndex(key).Interface()))
	}
}

// given writes flags.
func (w *writer) given(indent int, g given) {
	if w.expressions != nil {
		w.givenTemplate(indent, g)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(*g.flags)) {
		if slices.Contains(g.except, name) {
			continue
		}
		for _, arg := range argsOf(name, (*g.flags)[name]) {
			w.line(indent, "- "+plain(arg))
		}
	}
}

// argsOf are the arguments of a flag, in which Kubernetes is to expand nothing.
func argsOf(name string, value any) []string {
	switch v := value.(type) {
	case bool:
		if v {
			return []string{"--" + name}
		}
		return argsOf("no-"+name, true)
	case []any:
		var args []string
		for _, x := range v {
			args = append(args, argsOf(name, x)...)
		}
		return args
	default:
		return []string{"--" + name + "=" + strings.ReplaceAll(fmt.Sprint(v), "$", "$$")}
	}
}

func (w *writer) givenTemplate(indent int, g given) {
	w.line(0, "{{- range $name, $value := "+w.expressions[g.flags]+" }}")
	if len(g.except) > 0 {
		w.line(0, "{{- if not (has $name (list \""+strings.Join(g.except, `" "`)+"\")) }}")
	}
	w.line(0, `{{- if kindIs "bool" $value }}`)
	w.line(indent, `- {{ printf "--%s%s" (ternary "" "no-" $value) $name | toJson }}`)
	w.line(0, `{{- else if kindIs "slice" $value }}`)
	w.line(0, "{{- range $value }}")
	w.line(indent, `- {{ printf "--%s=%s" $name (replace "$" "$$" .) | toJson }}`)
	w.line(0, "{{- end }}")
	w.line(0, "{{- else }}")
	w.line(indent, `- {{ printf "--%s=%s" $name (replace "$" "$$" $value) | toJson }}`)
	w.line(0, "{{- end }}")
	if len(g.except) > 0 {
		w.line(0, "{{- end }}")
	}
	w.line(0, "{{- end }}")
}

// fileText writes the text of a file.
func (w *writer) fileText(indent int, before string, f fileText) {
	if w.expressions == nil {
		text := string(f.file.Text)
		if f.by != nil {
			text = strings.ReplaceAll(text, asJSON(f.old), asJSON(*f.by))
		}
		w.block(indent, before, text)
		return
	}
	w.files[f.file.Name] = f.file.Text
	expression := `.Files.Get "` + f.file.Name + `"`
	if f.by != nil {
		expression += fmt.Sprintf(" | replace (toJson %q) (toJson %s)", f.old, w.expressions[f.by])
	}
	w.line(indent, before+" {{ "+expression+" | toJson }}")
}

// fileYAML writes what a file of YAML says.
func (w *writer) fileYAML(indent int, f File) {
	if w.expressions != nil {
		w.files[f.Name] = f.Text
		w.line(0, fmt.Sprintf(`{{- .Files.Get %q | nindent %d }}`, f.Name, indent))
		return
	}
	for line := range strings.Lines(string(f.Text)) {
		w.indented(indent, line)
	}
}

// block writes a text of several lines.
func (w *writer) block(indent int, before, text string) {
	mark := " |"
	if !strings.HasSuffix(text, "\n") {
		mark = " |-"
	}
	w.line(indent, before+mark)
	for line := range strings.Lines(text) {
		w.indented(indent+2, line)
	}
}

// indented writes a line of a text, with nothing on one that is empty.
func (w *writer) indented(indent int, line string) {
	if line = strings.TrimSuffix(line, "\n"); line == "" {
		indent = 0
	}
	w.line(indent, line)
}

// isBlock reports whether a text can stand as it is below its key: it has several lines, does not begin or end with an empty
// one or with spaces, and has no characters that YAML wants escaped.
func isBlock(text string) bool {
	odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	return strings.Contains(text, "\n") && !strings.ContainsAny(text[:1], " \n") && !strings.HasSuffix(text, "\n\n") &&
		!strings.HasSuffix(text, " \n") && !strings.HasSuffix(text, " ") && !strings.ContainsFunc(text, odd)
}

// scalar is a leaf on one line.
func (w *writer) scalar(v any) string {
	switch v := v.(type) {
	case text:
		return w.text(v)
	case hash:
		return w.hash(v)
	case string:
		if w.expressions != nil {
			return strings.ReplaceAll(plain(v), "{{", `{{ "{{" }}`)
		}
		return plain(v)
	}
	if reflect.ValueOf(v).Kind() != reflect.Pointer {
		return scalarOf(v)
	}
	if w.expressions != nil {
		return "{{ " + w.expression(v) + " | toJson }}"
	}
	return scalarOf(reflect.ValueOf(v).Elem().Interface())
}

// expression is how a template reads a field.
func (w *writer) expression(field any) string {
	e := w.expressions[field]
	if e == "" {
		panic(fmt.Sprintf("BUG: a pointer of type %T is to no field of the values", field))
	}
	return e
}

// text joins parts.
func (w *writer) text(parts text) string {
	var b strings.Builder // the text, or the format of one
	var args []string
	for _, p := range parts {
		if literal, ok := p.(string); ok {
			b.WriteString(strings.ReplaceAll(literal, "%", w.percent()))
			continue
		}
		verb, expression := "%s", ""
		switch p := p.(type) {
		case *string:
			expression = "(toString " + w.field(p) + ")"
		case dollars:
			expression = `(replace "$" "$$" ` + w.field(p.field) + ")"
			if w.expressions == nil {
				b.WriteString(strings.ReplaceAll(*p.field, "$", "$$"))
			}
		case *int:
			verb, expression = "%d", "(int64 "+w.field(p)+")"
		}
		if w.expressions != nil {
			b.WriteString(verb)
			args = append(args, expression)
		} else if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer {
			fmt.Fprint(&b, v.Elem().Interface())
		}
	}
	if w.expressions == nil {
		return plain(b.String())
	}
	return fmt.Sprintf("{{ printf %q %s | toJson }}", b.String(), strings.Join(args, " "))
}

// percent is what stands for a percent sign: formats double it.
func (w *writer) percent() string {
	if w.expressions != nil {
		return "%%"
	}
	return "%"
}

// field is the expression of a field where there are expressions.
func (w *writer) field(field any) string {
	if w.expressions == nil {
		return ""
	}
	return w.expression(field)
}

func (w *writer) hash(fields hash) string {
	if w.expressions != nil {
		args := make([]string, len(fields))
		for i, f := range fields {
			args[i] = w.expression(f)
		}
		return "{{ list " + strings.Join(args, " ") + ` | join "\n" | sha256sum | toJson }}`
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = *f
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(texts, "\n")))))
}

// condition is the argument of a template's if.
func (w *writer) condition(c condition) string {
	expression := ""
	if c.above != nil {
		expression = fmt.Sprintf("(gt (int %s) %d)", w.expression(c.above), c.least)
	} else {
		expression = w.expression(c.field)
	}
	if c.not {
		return "not " + expression
	}
	return expression
}

// refuse is the first reason for which values are refused.
func refuse(refusals []refusal) error {
	for _, r := range refusals {
		if !slices.ContainsFunc(r.conditions, func(c condition) bool { return !c.holds() }) {
			return errors.New(r.reason)
		}
	}
	return nil
}

// simple are texts that YAML takes for texts without quotes.
var simple = regexp.MustCompile(`^[A-Za-z/][-A-Za-z0-9_./]*$`)

// words are simple texts that some parsers of YAML take for something else.
var words = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// plain is a text as YAML, in quotes where it needs them.
func plain(text string) string {
	if simple.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return asJSON(text)
}

// scalarOf is a value as YAML on one line.
func scalarOf(v any) string {
	of := reflect.ValueOf(v)
	switch empty := of.Kind() == reflect.Map || of.Kind() == reflect.Slice; {
	case of.Kind() == reflect.String:
		return plain(of.String())
	case empty && of.Len() == 0:
		return strings.NewReplacer("map", "{}", "slice", "[]").Replace(of.Kind().String())
	}
	return asJSON(v)
}

// asJSON is a value as JSON, which is YAML, too.
func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a value that is no JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
