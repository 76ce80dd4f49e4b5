package filter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/promcost/promcost/allocation/labelnames"
)

const (
	// maxSaved is the longest answer that Saved reads, in bytes.
	maxSaved = 1 << 30
	// maxObject is the most bytes that are read for one allocation or asset.
	maxObject = 16 << 20
)

// Saved reads an answer of the API, such as one of /model/allocation or /model/assets, and returns the names of the
// allocations or assets in it that the filter selects, each once, in the order of the answer. Its data is an array of maps
// or one map; without the envelope around it, an array. They are selected by what the answer says of them, which is what
// a filter in the request goes by, too, as long as it does not aggregate. The region of an asset is not in it but as a label, and the pool of an
// allocation's node is not in it at all.
// It is read as a stream. Errors name the place; an answer of the other kind is one, and so is a summary, which says nothing
// of what its costs belong to.
func (f *Filter) Saved(r io.Reader) ([]string, error) {
	s := savedReader{
		in:    &boundedReader{in: bufio.NewReader(r), total: maxSaved},
		match: objects(f.root, f.vocabulary, savedAccessor(f.assets), unlimited()), seen: map[string]bool{}, assets: f.assets,
	}
	s.in.next()
	s.dec = json.NewDecoder(s.in)
	if err := s.answer(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read answer: byte %d: %w", s.dec.InputOffset(), err)
	}
	return s.names, nil
}

// savedAccessor finds the fields of allocations or of assets.
func savedAccessor(assets bool) accessor[*saved] {
	return accessor[*saved]{
		text: func(spec *fieldSpec) func(*saved) string { return spec.saved },
		list: func(*fieldSpec) func(*saved) []string { return (*saved).services },
		pairs: func(field Field) func(*saved) map[string]string {
			return func(o *saved) map[string]string { return o.pairs(field, assets) }
		},
	}
}

// saved is an allocation or asset of a saved answer. Missing values are empty.
type saved struct {
	key string

	Name       *string `json:"name"` // of an allocation
	Properties struct {
		Cluster        string            `json:"cluster"`
		Node           string            `json:"node"`
		Namespace      string            `json:"namespace"`
		Controller     string            `json:"controller"`
		ControllerKind string            `json:"controllerKind"`
		Pod            string            `json:"pod"`
		Container      string            `json:"container"`
		Services       []string          `json:"services"`
		Labels         map[string]string `json:"labels"`
		Annotations    map[string]string `json:"annotations"`

		NamespaceLabels      map[string]string `json:"namespaceLabels"`
		NamespaceAnnotations map[string]string `json:"namespaceAnnotations"`
		// What those are called with propertyNames=singular, and the service of an asset.
		Service    texts             `json:"service"`
		Label      map[string]string `json:"label"`
		Annotation map[string]string `json:"annotation"`

		Name       string `json:"name"`
		Category   string `json:"category"`
		Provider   string `json:"provider"`
		ProviderID string `json:"providerID"`
		Account    string `json:"account"`
		Project    string `json:"project"`
	} `json:"properties"`
	Type           string            `json:"type"`
	Labels         map[string]string `json:"labels"` // of an asset
	Start          string            `json:"start"`
	End            string            `json:"end"`
	NodeType       string            `json:"nodeType"`
	Pool           string            `json:"pool"`
	StorageClass   string            `json:"storageClass"`
	VolumeName     string            `json:"volumeName"`
	ClaimName      string            `json:"claimName"`
	ClaimNamespace string            `json:"claimNamespace"`
	IP             string            `json:"ip"`
	Private        *bool             `json:"private"`
	Preemptible    *float64          `json:"preemptible"`

	Requested  *float64        `json:"cpuCoreRequestAverage"` // of an allocation
	Summarized json.RawMessage `json:"allocations"`           // of a combined summary
}

// texts is a list, or a text in its place.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

func (o *saved) services() []string {
	if o.Properties.Services != nil {
		return o.Properties.Services
	}
	return o.Properties.Service
}

// service returns the service of an asset.
func (o *saved) service() string { return first(o.Properties.Service) }

// pairs is a map of the object.
func (o *saved) pairs(field Field, asset bool) map[string]string {
	plural, singular := o.Properties.Labels, o.Properties.Label
	switch {
	case asset && field == Label:
		return o.Labels
	case asset:
		return nil
	case field == Annotation:
		plural, singular = o.Properties.Annotations, o.Properties.Annotation
	}
	if plural != nil {
		return plural
	}
	return singular
}

// properties returns the properties from which a derived field is computed, without missing ones.
func (o *saved) properties() map[string]any {
	out := map[string]any{}
	p := &o.Properties
	for name, text := range map[string]string{
		"cluster": p.Cluster, "node": p.Node, "namespace": p.Namespace, "controller": p.Controller, "controllerKind": p.ControllerKind,
		"pod": p.Pod, "container": p.Container, "providerID": p.ProviderID,
	} {
		if text != "" {
			out[name] = text
		}
	}
	for name, pairs := range map[string]map[string]string{
		"labels": o.pairs(Label, false), "annotations": o.pairs(Annotation, false),
		"namespaceLabels": p.NamespaceLabels, "namespaceAnnotations": p.NamespaceAnnotations,
	} {
		if len(pairs) > 0 {
			texts := make(map[string]any, len(pairs))
			for key, value := range pairs {
				texts[key] = value
			}
			out[name] = texts
		}
	}
	if services := o.services(); len(services) > 0 {
		list := make([]any, len(services))
		for i, service := range services {
			list[i] = service
		}
		out["services"] = list
	}
	return out
}

// region returns the region that labels name.
func (o *saved) region() string { return labelnames.Region(o.Labels) }

func (o *saved) private() string {
	if o.Private == nil {
		return ""
	}
	return strconv.FormatBool(*o.Private)
}

func (o *saved) preemptible() string {
	if o.Preemptible == nil {
		return ""
	}
	return strconv.FormatBool(*o.Preemptible > 0)
}

// savedReader reads an answer.
type savedReader struct {
	in      *boundedReader
	dec     *json.Decoder
	match   func(*saved) bool
	assets  bool // it selects assets
	checked bool // that the answer is of them
	seen    map[string]bool
	names   []string
}

// answer reads the whole input.
func (s *savedReader) answer() error {
	start, err := s.token()
	if err != nil {
		return err
	}
	switch start {
	case json.Delim('['):
		err = s.sets()
	case json.Delim('{'):
		err = s.envelope()
	default:
		err = fmt.Errorf("found %v, expected an answer of the API, such as {\"code\":200,\"data\":[…]}", start)
	}
	if err != nil {
		return err
	}
	if end, err := s.token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("found %v after the answer: keep one answer", end)
		}
		return err
	}
	return nil
}

// token is the next token of the input.
func (s *savedReader) token() (json.Token, error) {
	s.in.next()
	return s.dec.Token()
}

// envelope reads the members of an answer, behind its brace.
func (s *savedReader) envelope() error {
	found, message := false, ""
	for s.dec.More() {
		name, err := s.token()
		if err != nil {
			return err
		}
		switch name {
		case "data":
			empty, err := s.data()
			if err != nil {
				return err
			}
			found = found || !empty
		case "message":
			s.in.next()
			if err := s.dec.Decode(&message); err != nil {
				return fmt.Errorf("read message: %w", err)
			}
		default:
			if err := s.skip(); err != nil {
				return err
			}
		}
	}
	if _, err := s.token(); err != nil {
		return err
	}
	switch {
	case !found && message != "":
		return fmt.Errorf("it has no data, but says: %s", message)
	case !found:
		return errors.New("it has no data: give an answer of the API, such as {\"code\":200,\"data\":[…]}")
	}
	return nil
}

// data reads an array of maps or one map. None is empty.
func (s *savedReader) data() (empty bool, err error) {
	start, err := s.token()
	if err != nil {
		return false, err
	}
	switch start {
	case json.Delim('['):
		return false, s.sets()
	case json.Delim('{'):
		return false, s.objects()
	case nil:
		return true, nil
	}
	return false, fmt.Errorf("data is %v, expected an array of maps, or a map", start)
}

// sets reads maps up to the end of their array.
func (s *savedReader) sets() error {
	for {
		start, err := s.token()
		switch {
		case err != nil:
			return err
		case start == json.Delim(']'):
			return nil
		case start == json.Delim('{'):
			if err := s.objects(); err != nil {
				return err
			}
		case start != nil:
			return fmt.Errorf("a set is %v, expected a map of names to allocations or assets", start)
		}
	}
}

// objects reads allocations or assets up to the end of their map.
func (s *savedReader) objects() error {
	for s.dec.More() {
		name, err := s.token()
		if err != nil {
			return err
		}
		key, ok := name.(string)
		if !ok {
			return fmt.Errorf("found %v, expected a name", name)
		}
		var o *saved
		s.in.next()
		if err := s.dec.Decode(&o); err != nil {
			return unreadable(key, err)
		}
		if o == nil {
			continue
		}
		if o.key = key; !s.checked {
			s.checked = true
			if err := s.check(o); err != nil {
				return err
			}
		}
		if !s.seen[key] && s.match(o) {
			s.seen[key] = true
			s.names = append(s.names, key)
		}
	}
	_, err := s.token()
	return err
}

// errSummary says that an answer has nothing to select by.
var errSummary = errors.New("this is a summary, which does not say what its costs belong to: filter in the request, or save an answer of /model/allocation")

// unreadable is the error of an object that cannot be decoded.
func unreadable(key string, err error) error {
	mismatch := new(json.UnmarshalTypeError)
	switch {
	case !errors.As(err, &mismatch):
	case mismatch.Field == "" && (key == "step" || key == "sets" || key == "numResults"):
		return errSummary
	case mismatch.Type.Kind() == reflect.String:
		return fmt.Errorf("read %q: %s has a %s, expected text: put it in double quotes", key, mismatch.Field, mismatch.Value)
	}
	return fmt.Errorf("read %q: %w", key, err)
}

// check reports an object that looks like one of another kind of answer.
func (s *savedReader) check(o *saved) error {
	switch {
	case o.Summarized != nil, o.key == "allocations" && o.Name == nil && o.Requested == nil && o.Properties.Cluster == "":
		return errSummary
	case !s.assets && o.Type != "":
		return errors.New("this is an answer of assets: use --api=asset")
	case s.assets && o.Type == "" && o.Requested != nil:
		return errors.New("this is an answer of allocations: use --api=allocation")
	}
	return nil
}

// skip reads a value that is of no use.
func (s *savedReader) skip() error {
	for depth := 0; ; {
		t, err := s.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth <= 0 {
			return nil
		}
	}
}

// boundedReader fails where the input, or one object of it, is too long.
type boundedReader struct {
	in     io.Reader
	total  int64 // bytes that may still be read
	object int64 // bytes that may still be read for the current object
}

// next says that another object begins.
func (b *boundedReader) next() { b.object = maxObject }

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	switch {
	case b.total <= 0:
		return 0, fmt.Errorf("it is longer than %d bytes: split it, or filter in the request", int64(maxSaved))
	case b.object <= 0:
		return 0, fmt.Errorf("one value in it is longer than %d bytes: it is no answer of the API", int64(maxObject))
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.total, b.object)])
	b.total -= int64(n)
	b.object -= int64(n)
	return n, err
}
