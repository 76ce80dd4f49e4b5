package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of what Parse reads.
const (
	MaxBytes   = 4 << 20
	MaxObjects = 1000
	// MaxKeys bounds the keys of a mapping, for the decoder compares each key with all others.
	MaxKeys = 1000
	// MaxContainers bounds the containers of a pod, and its claims; maxNotes bounds what is noted of it.
	MaxContainers = 1000
	// MaxSelectors bounds the labels that the nodeSelectors of all workloads name.
	MaxSelectors = 100
	maxNotes     = 20
	// MemoryFactor is about how many bytes of memory a byte of a text takes at most while it is parsed.
	MemoryFactor = 192
)

// Parse reads a text of documents in YAML, or of objects in JSON, each an object of Kubernetes or a list of them. Objects of unknown kinds
// are listed. What is no object, a quantity that is none, a pod without containers and more than MaxObjects are of type *Error.
func Parse(text []byte) (*Manifests, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the manifests are %d bytes long, at most %d are allowed: split them", len(text), MaxBytes)
	}
	p := &parser{out: &Manifests{}, seen: map[Object]int{}, selectors: map[string]bool{}}
	next := documentsOf(text)
	for {
		var n yaml.Node
		p.document++
		switch err := next(&n); {
		case errors.Is(err, io.EOF):
			if p.objects == 0 {
				return nil, errors.New("there is no manifest: give documents of YAML or JSON, such as helm template and kustomize build print")
			}
			return p.out, nil
		case err != nil:
			return nil, p.fail(Object{}, "", fmt.Errorf("it cannot be read: %s: give YAML or JSON", plain(err)))
		}
		if err := p.add(&n); err != nil {
			return nil, err
		}
	}
}

// documentsOf reads one document after the other. JSON is rewritten: YAML knows neither its pairs of escapes nor objects without anything
// between them.
func documentsOf(text []byte) func(*yaml.Node) error {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		d := yaml.NewDecoder(bytes.NewReader(text))
		return func(n *yaml.Node) error { return d.Decode(n) }
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return func(n *yaml.Node) error {
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		again, err := json.Marshal(value)
		if err != nil {
			return err
		}
		return yaml.Unmarshal(again, n)
	}
}

// plain is an error of a parser in words for users.
func plain(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	if types, ok := errors.AsType[*yaml.TypeError](err); ok && len(types.Errors) > 0 { // of which there may be many
		err = errors.New(types.Errors[0])
		if found := misplaced.FindStringSubmatch(err.Error()); found != nil {
			return fmt.Sprintf("%s: %s does not belong there", found[1], found[2])
		}
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "json: ")
	return shorten(strings.Join(strings.Fields(text), " "))
}

// misplaced is a value of a type that does not belong where it is.
var misplaced = regexp.MustCompile("(line [0-9]+): cannot unmarshal (!![a-z]+(?: `[^`]*`)?) into ")

// parser reads objects.
type parser struct {
	out      *Manifests
	document int
	objects  int
	seen     map[Object]int // the documents of workloads and claims
	// selectors are the labels of nodeSelectors.
	selectors map[string]bool
}

// fail is an error in the document that is read.
func (p *parser) fail(o Object, field string, err error) error {
	e := &Error{Document: p.document, Field: field, Err: err}
	if o.Kind != "" {
		e.Object = shorten(o.String())
	}
	return e
}

// shorten cuts a text for use in an error.
func shorten(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// object is what all objects have.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, GenerateName, Namespace string }
	Spec       yaml.Node
	Items      []yaml.Node
}

// add adds the object of a document, or of a list.
func (p *parser) add(n *yaml.Node) error {
	for n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if p.objects++; p.objects > MaxObjects {
		return p.fail(Object{}, "", fmt.Errorf("there are more than %d objects: split them", MaxObjects))
	}
	if err := p.checkKeys(n, 1, map[*yaml.Node]bool{}); err != nil { // its own, and those of metadata
		return err
	}
	var o object
	if err := n.Decode(&o); err != nil || o.Kind == "" {
		cause := "it has no kind"
		if err != nil {
			cause = plain(err)
		}
		return p.fail(Object{}, "", fmt.Errorf("it is no object of Kubernetes: %s: give manifests with kind and metadata", cause))
	}
	id := Object{o.Kind, o.Metadata.Namespace, o.Metadata.Name}
	if id.Name == "" {
		id.Name = o.Metadata.GenerateName
	}
	if strings.HasSuffix(o.Kind, "List") && o.Metadata.Name == "" {
		for i := range o.Items {
			if err := p.add(&o.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	read, ok := kinds[kindKey{group, o.Kind}]
	if !ok {
		p.out.Unpriced = append(p.out.Unpriced, Object{shorten(id.Kind), shorten(id.Namespace), shorten(id.Name)})
		return nil
	}
	if err := p.once(id); err != nil {
		return err
	}
	if err := p.checkKeys(&o.Spec, maxDepth, map[*yaml.Node]bool{}); err != nil {
		return err
	}
	return read(p, id, &o.Spec)
}

// maxDepth is deeper than anything that is decoded.
const maxDepth = 32

// checkKeys refuses mappings with too many keys, and those with a key twice, down to a depth. The decoder would compare each key with all
// others, and report each pair. seen are the aliases that were followed.
func (p *parser) checkKeys(n *yaml.Node, depth int, seen map[*yaml.Node]bool) error {
	if n.Kind == yaml.AliasNode {
		if n = n.Alias; seen[n] {
			return nil
		}
		seen[n] = true
	}
	if n.Kind == yaml.MappingNode {
		if keys := len(n.Content) / 2; keys > MaxKeys {
			return p.fail(Object{}, "", fmt.Errorf("line %d: a mapping has %d keys, at most %d are allowed: split it", n.Line, keys, MaxKeys))
		}
		lines := map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if line, twice := lines[key.Value]; twice {
				return p.fail(Object{}, "", fmt.Errorf("line %d: key %q is there already, on line %d: keep one", key.Line, shorten(key.Value), line))
			}
			lines[key.Value] = key.Line
		}
	}
	if depth == 0 {
		return nil
	}
	for _, child := range n.Content {
		if err := p.checkKeys(child, depth-1, seen); err != nil {
			return err
		}
	}
	return nil
}

// once refuses an object without a name, and one that is there twice.
func (p *parser) once(id Object) error {
	if id.Name == "" {
		return p.fail(id, "metadata.name", errors.New("it is missing: give one"))
	}
	if before, twice := p.seen[id]; twice {
		return p.fail(id, "", fmt.Errorf("it is there already, in document %d: keep one", before))
	}
	p.seen[id] = p.document
	return nil
}

// kindKey is a kind and the group of its API.
type kindKey struct{ group, kind string }

// kinds are the kinds that cost something, and how they are read.
var kinds = map[kindKey]func(p *parser, id Object, spec *yaml.Node) error{
	{"apps", "Deployment"}: (*parser).replicated, {"extensions", "Deployment"}: (*parser).replicated, {"apps", "ReplicaSet"}: (*parser).replicated,
	{"apps", "StatefulSet"}: (*parser).replicated, {"", "ReplicationController"}: (*parser).replicated, {"argoproj.io", "Rollout"}: (*parser).replicated,
	{"apps", "DaemonSet"}: (*parser).replicated, {"batch", "Job"}: (*parser).replicated, {"batch", "CronJob"}: (*parser).cronJob, {"", "Pod"}: (*parser).pod,
	{"", "PersistentVolumeClaim"}: (*parser).claim, {"autoscaling", "HorizontalPodAutoscaler"}: (*parser).scaler,
}
