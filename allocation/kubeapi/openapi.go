package kubeapi

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Definition is the OpenAPI definition of a type, and the names of those that it refers to.
type Definition struct {
	Schema       spec.Schema
	Dependencies []string
}

// Definitions are the OpenAPI definitions of the group's types, and of those of Kubernetes that go with them, by name. They are made from
// the Go types by reflection. ref makes a reference to a name.
func Definitions(ref func(name string) spec.Ref) map[string]Definition {
	d := &definer{ref: ref, known: map[string]Definition{}}
	for _, r := range rows() {
		d.define(reflect.TypeOf(r.newObject()).Elem())
		d.define(reflect.TypeOf(r.newList()).Elem())
		name := modelName(reflect.TypeOf(r.newObject()).Elem())
		def := d.known[name]
		def.Schema.AddExtension("x-kubernetes-selectable-fields", r.selectableFields())
		d.known[name] = def
	}
	for _, o := range []any{
		metav1.Status{},
		metav1.APIVersions{},
		metav1.APIGroup{},
		metav1.APIGroupList{},
		metav1.APIResourceList{},
		metav1.WatchEvent{},
		metav1.DeleteOptions{},
		metav1.Patch{},
		version.Info{},
	} {
		d.define(reflect.TypeOf(o))
	}
	return d.known
}

// selectableFields are the fields that selectors may name, as the extension has them.
func (r *row) selectableFields() []any {
	list := make([]any, len(r.fields))
	for i, f := range r.fields {
		list[i] = map[string]any{"fieldPath": f.path, "description": f.help}
	}
	return list
}

// definer makes definitions.
type definer struct {
	ref   func(name string) spec.Ref
	known map[string]Definition
}

// namer is a type that knows its name.
type namer interface{ OpenAPIModelName() string }

// formatter is a type that knows its schema.
type formatter interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// modelPrefix begins the names of the group's types.
const modelPrefix = "io.promcost.cost.v1alpha1."

// modelName is the name of a type.
func modelName(t reflect.Type) string {
	if n, ok := reflect.TypeAssert[namer](reflect.Zero(t)); ok {
		return n.OpenAPIModelName()
	}
	return modelPrefix + t.Name()
}

// define makes the definition of a struct, and returns its name.
func (d *definer) define(t reflect.Type) string {
	name := modelName(t)
	if _, ok := d.known[name]; ok {
		return name
	}
	d.known[name] = Definition{} // it may refer to itself
	def := Definition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Type: []string{"object"}, Properties: map[string]spec.Schema{}, Description: docOf(t, "", ""),
	}}}
	switch t {
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.Patch]():
	default:
		d.fields(t, &def)
	}
	d.known[name] = def
	return name
}

// fields adds the fields of a struct, and those of structs that are inlined in it.
func (d *definer) fields(t reflect.Type, def *Definition) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			d.fields(f.Type, def)
			continue
		case name == "" || name == "-":
			continue
		}
		s := d.schema(f.Type, def)
		s.Description = docOf(t, name, f.Tag.Get("help"))
		if s.Ref.String() != "" { // beside a reference, nothing counts
			s = spec.Schema{SchemaProps: spec.SchemaProps{Description: s.Description, AllOf: []spec.Schema{{SchemaProps: spec.SchemaProps{Ref: s.Ref}}}, Default: map[string]any{}}}
		}
		def.Schema.Properties[name] = s
		if !strings.Contains(options, "omit") {
			def.Schema.Required = append(def.Schema.Required, name)
		}
	}
}

// schema is the schema of a value of a type.
func (d *definer) schema(t reflect.Type, def *Definition) (s spec.Schema) {
	if t.Kind() == reflect.Pointer {
		return d.schema(t.Elem(), def)
	}
	if f, ok := reflect.TypeAssert[formatter](reflect.Zero(t)); ok {
		s.Type, s.Format = f.OpenAPISchemaType(), f.OpenAPISchemaFormat()
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.Type = []string{"string"}
	case reflect.Bool:
		s.Type = []string{"boolean"}
	case reflect.Float32, reflect.Float64:
		s.Type, s.Format = []string{"number"}, "double"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			s.Type, s.Format = []string{"string"}, "byte"
			return s
		}
		items := d.schema(t.Elem(), def)
		s.Type, s.Items = []string{"array"}, &spec.SchemaOrArray{Schema: &items}
	case reflect.Map:
		values := d.schema(t.Elem(), def)
		s.Type, s.AdditionalProperties = []string{"object"}, &spec.SchemaOrBool{Allows: true, Schema: &values}
	case reflect.Struct:
		name := d.define(t)
		def.Dependencies = append(def.Dependencies, name)
		s.Ref = d.ref(name)
	default: // all other kinds of API types are integers
		s.Type, s.Format = []string{"integer"}, "int64"
	}
	return s
}

// docOf is what is said of a field of a type, or of the type itself by the name "": help, or else what the type of Kubernetes says.
func docOf(t reflect.Type, name, help string) string {
	switch s, ok := reflect.TypeAssert[interface{ SwaggerDoc() map[string]string }](reflect.Zero(t)); {
	case help != "":
		return help
	case ok:
		return s.SwaggerDoc()[name]
	case name == "":
		return typeHelp[t.Name()]
	case name == "metadata":
		return "Metadata as all objects have it. Its name and namespace are those of what it is about; labels are those of pods."
	}
	return ""
}

// OpenAPIModelName is the name of the type in OpenAPI.
func (Allocation) OpenAPIModelName() string { return modelPrefix + "Allocation" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (AllocationList) OpenAPIModelName() string { return modelPrefix + "AllocationList" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (ClusterAllocation) OpenAPIModelName() string { return modelPrefix + "ClusterAllocation" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (ClusterAllocationList) OpenAPIModelName() string { return modelPrefix + "ClusterAllocationList" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (Asset) OpenAPIModelName() string { return modelPrefix + "Asset" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (AssetList) OpenAPIModelName() string { return modelPrefix + "AssetList" }
