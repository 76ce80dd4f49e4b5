package filter

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// Field names what a comparison looks at, as filters write it.
type Field string

// The fields of allocations. Service, label, annotation, the pool of nodes and the aliases have the same meaning for assets.
const (
	Cluster        Field = "cluster"
	Node           Field = "node"
	Namespace      Field = "namespace"
	ControllerName Field = "controllerName"
	ControllerKind Field = "controllerKind"
	Pod            Field = "pod"
	Container      Field = "container"
	Services       Field = "services"
	Label          Field = "label"
	Annotation     Field = "annotation"
	// The aliases stand for labels, or for annotations where those labels are missing.
	Department  Field = "department"
	Environment Field = "environment"
	Owner       Field = "owner"
	Product     Field = "product"
	Team        Field = "team"
	// NodePool is the pool that the node is of.
	NodePool Field = "nodePool"
)

// The further fields of assets. They have Cluster, Label and the aliases as well.
const (
	Name       Field = "name"
	AssetType  Field = "assetType"
	Category   Field = "category"
	Project    Field = "project"
	Provider   Field = "provider"
	ProviderID Field = "providerID"
	Account    Field = "account"
	Service    Field = "service"
	Region     Field = "region"
)

// Fields that only field selectors name, by their paths.
const (
	objectName      Field = "metadata.name"
	objectNamespace Field = "metadata.namespace"
	objectKind      Field = "spec.controllerKind"
	firstService    Field = "spec.service"
	startTime       Field = "status.start"
	endTime         Field = "status.end"
	nodeType        Field = "spec.nodeType"
	storageClass    Field = "spec.storageClass"
	volumeName      Field = "spec.volumeName"
	claimName       Field = "spec.claimName"
	claimNamespace  Field = "spec.claimNamespace"
	ingressIP       Field = "spec.ip"
	private         Field = "spec.private"
	preemptible     Field = "spec.preemptible"
)

// fieldKind is the kind of a field's value. It decides what operators mean.
type fieldKind uint8

const (
	textField  fieldKind = iota
	listField            // comparisons look for an element
	mapField             // comparisons look for a key, or at the value of one
	aliasField           // the text of a label, else of an annotation
)

// fieldSpec describes a field: its kind and where its value is found.
type fieldSpec struct {
	name    Field
	alias   Field // another name of it, "" for none
	kind    fieldKind
	anyCase bool // values compare without regard to case
	hidden  bool // only field selectors name it

	// property is where allocations have the value: ids that are compared as they are, or as the text that of makes of them.
	property allocation.Property
	text     func(d *allocation.Dict, id allocation.ID) string
	// bind gives the texts of a set's allocations, in place of a property. It looks at needs.
	bind  func(s *allocation.Set) (func(row int) string, error)
	needs *allocation.Projection
	// asset is the text of an asset.
	asset func(a *allocation.Asset) string
	// saved is the text of an object of a saved answer.
	saved func(o *saved) string
}

// allocationFields are the fields of allocations, in the order of the documentation.
var allocationFields = []fieldSpec{
	{name: Cluster, property: allocation.Cluster, saved: func(o *saved) string { return o.Properties.Cluster }},
	{name: Node, property: allocation.NodeName, saved: func(o *saved) string { return o.Properties.Node }},
	{name: Namespace, property: allocation.Namespace, saved: func(o *saved) string { return o.Properties.Namespace }},
	{name: ControllerName, property: allocation.Controller, saved: func(o *saved) string { return o.Properties.Controller }},
	{name: ControllerKind, property: allocation.ControllerKind, anyCase: true, saved: func(o *saved) string { return o.Properties.ControllerKind }},
	{name: Container, property: allocation.Container, saved: func(o *saved) string { return o.Properties.Container }},
	{name: Pod, property: allocation.Pod, saved: func(o *saved) string { return o.Properties.Pod }},
	{name: Services, kind: listField, property: allocation.Services},
	{name: Label, kind: mapField, property: allocation.Labels},
	{name: Annotation, kind: mapField, property: allocation.Annotations},
	{name: Department, kind: aliasField},
	{name: Environment, kind: aliasField},
	{name: Owner, kind: aliasField},
	{name: Product, kind: aliasField},
	{name: Team, kind: aliasField},
	{name: NodePool, bind: (*allocation.Set).NodePools, needs: allocation.NodePoolNeeds(), saved: func(*saved) string { return "" }}, // answers do not have it

	{name: objectName, hidden: true, bind: nameOf, needs: allocation.OfRows(nameNeeds), saved: func(o *saved) string { return o.key }},
	{name: objectNamespace, hidden: true, property: allocation.Namespace, saved: func(o *saved) string { return o.Properties.Namespace }},
	{name: objectKind, hidden: true, property: allocation.ControllerKind, anyCase: true, saved: func(o *saved) string { return o.Properties.ControllerKind }},
	{name: ProviderID, hidden: true, property: allocation.ProviderID, text: shortProviderID, saved: func(o *saved) string { return o.Properties.ProviderID }},
	{name: firstService, hidden: true, property: allocation.Services, text: firstOfList, saved: func(o *saved) string { return first(o.services()) }},
	{name: startTime, hidden: true, bind: timeOf((*allocation.Set).Start), needs: allocation.OfRows(nil), saved: func(o *saved) string { return o.Start }},
	{name: endTime, hidden: true, bind: timeOf((*allocation.Set).End), needs: allocation.OfRows(nil), saved: func(o *saved) string { return o.End }},
}

// assetFields are the fields of assets, in the order of the documentation.
var assetFields = []fieldSpec{
	{name: Name, asset: func(a *allocation.Asset) string { return a.Title }, saved: func(o *saved) string { return o.Properties.Name }},
	{name: AssetType, alias: "type", anyCase: true, asset: func(a *allocation.Asset) string { return lowerTypes[a.Type] }, saved: func(o *saved) string { return o.Type }},
	{name: Category, asset: func(a *allocation.Asset) string { return a.Category }, saved: func(o *saved) string { return o.Properties.Category }},
	{name: Cluster, asset: func(a *allocation.Asset) string { return a.Cluster }, saved: func(o *saved) string { return o.Properties.Cluster }},
	{name: Project, asset: func(a *allocation.Asset) string { return a.Project }, saved: func(o *saved) string { return o.Properties.Project }},
	{name: Provider, asset: func(a *allocation.Asset) string { return a.Provider }, saved: func(o *saved) string { return o.Properties.Provider }},
	{name: ProviderID, asset: func(a *allocation.Asset) string { return a.ProviderID }, saved: func(o *saved) string { return o.Properties.ProviderID }},
	{name: Account, asset: func(a *allocation.Asset) string { return a.Account }, saved: func(o *saved) string { return o.Properties.Account }},
	{name: Service, asset: func(a *allocation.Asset) string { return a.Service }, saved: func(o *saved) string { return o.service() }},
	{name: Label, kind: mapField},
	{name: Department, kind: aliasField},
	{name: Environment, kind: aliasField},
	{name: Owner, kind: aliasField},
	{name: Product, kind: aliasField},
	{name: Team, kind: aliasField},
	{name: Region, asset: func(a *allocation.Asset) string { return a.Region }, saved: func(o *saved) string { return o.region() }},
	{name: NodePool, asset: func(a *allocation.Asset) string { return a.Pool }, saved: func(o *saved) string { return o.Pool }},

	{name: objectName, hidden: true, asset: func(a *allocation.Asset) string { return a.Title }, saved: func(o *saved) string { return o.Properties.Name }},
	{name: objectNamespace, hidden: true, asset: func(*allocation.Asset) string { return "" }, saved: func(*saved) string { return "" }}, // no asset is in one
	{name: nodeType, hidden: true, asset: nodeText(func(n *allocation.Node) string { return n.InstanceType }), saved: func(o *saved) string { return o.NodeType }},
	{name: storageClass, hidden: true, asset: diskText(func(d *allocation.Disk) string { return d.StorageClass }), saved: func(o *saved) string { return o.StorageClass }},
	{name: volumeName, hidden: true, asset: diskText(nameOfVolume), saved: func(o *saved) string { return o.VolumeName }},
	{name: claimName, hidden: true, asset: diskText(func(d *allocation.Disk) string { return d.ClaimName }), saved: func(o *saved) string { return o.ClaimName }},
	{name: claimNamespace, hidden: true, asset: diskText(func(d *allocation.Disk) string { return d.ClaimNamespace }), saved: func(o *saved) string { return o.ClaimNamespace }},
	{name: ingressIP, hidden: true, asset: balancerText(func(b *allocation.LoadBalancer) string { return b.IP }), saved: func(o *saved) string { return o.IP }},
	{name: private, hidden: true, asset: balancerText(func(b *allocation.LoadBalancer) string { return strconv.FormatBool(b.Private) }), saved: func(o *saved) string { return o.private() }},
	{name: preemptible, hidden: true, saved: func(o *saved) string { return o.preemptible() }, asset: func(a *allocation.Asset) string {
		if a.Node == nil {
			return ""
		}
		return strconv.FormatBool(a.Preemptible > 0)
	}},
}

// lowerTypes are the names of types in lower case: comparing them in any case allocates nothing.
var lowerTypes = func() (names [allocation.NumAssetTypes]string) {
	for t := range names {
		names[t] = strings.ToLower(allocation.AssetType(t).String())
	}
	return names
}()

// nameNeeds are the properties that rows are named by before they are aggregated.
var nameNeeds = []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.Container}

// nameOf is the name of rows.
func nameOf(s *allocation.Set) (func(int) string, error) {
	return s.Name, s.Require(allocation.OfRows(nameNeeds))
}

// timeOf is a time of rows as answers have it.
func timeOf(instant func(s *allocation.Set, row int) time.Time) func(*allocation.Set) (func(int) string, error) {
	return func(s *allocation.Set) (func(int) string, error) {
		return func(row int) string { return instant(s, row).Format(time.RFC3339) }, nil
	}
}

// nodeText returns a text of a node, and "" for other assets.
func nodeText(text func(*allocation.Node) string) func(*allocation.Asset) string {
	return func(a *allocation.Asset) string {
		if a.Node == nil {
			return ""
		}
		return text(a.Node)
	}
}

// diskText returns a text of a disk, and "" for other assets.
func diskText(text func(*allocation.Disk) string) func(*allocation.Asset) string {
	return func(a *allocation.Asset) string {
		if a.Disk == nil {
			return ""
		}
		return text(a.Disk)
	}
}

// balancerText returns a text of a load balancer, and "" for other assets.
func balancerText(text func(*allocation.LoadBalancer) string) func(*allocation.Asset) string {
	return func(a *allocation.Asset) string {
		if a.Balancer == nil {
			return ""
		}
		return text(a.Balancer)
	}
}

// nameOfVolume returns the name of a persistent volume. The disk of a node has the node's name.
func nameOfVolume(d *allocation.Disk) string {
	if d.Local {
		return ""
	}
	return d.Name
}

// shortProviderID is the id of a node as answers have it.
func shortProviderID(d *allocation.Dict, id allocation.ID) string {
	_, short := allocation.ParseProviderID(d.Text(id))
	return short
}

// firstOfList returns the first element in sorted order, which is the one that aggregating by service counts.
func firstOfList(d *allocation.Dict, id allocation.ID) string {
	texts := make([]string, 0, 4)
	for _, e := range d.List(id) {
		texts = append(texts, d.Text(e))
	}
	return first(texts)
}

// first is the smallest text, "" of none.
func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return slices.Min(texts)
}

// Derived is a further field of allocations, whose text is computed.
type Derived struct {
	// Name is the field's, in letters, digits, ".", "-" and "_", a letter first. It takes the place of an alias; any other
	// field of the language wins over it.
	Name string
	// Bind returns a function that returns the text of a row, "" if it is missing. Bind is called when a filter that names
	// the field is bound to a set; the function is then called once for each row. It may look at Needs.
	Bind  func(s *allocation.Set) (func(row int) string, error)
	Needs []allocation.Property
	// Of is the text of an allocation of a saved answer, by its properties as JSON has them. Without it it is missing there.
	Of func(properties map[string]any) string
}

// WithDerived adds derived properties to the fields of allocations.
func WithDerived(list ...*allocation.Derived) Option {
	fields := make([]Derived, len(list))
	for i, d := range list {
		fields[i] = Derived{d.Name(), d.Bind, d.Needs().Properties, d.Compute}
	}
	return WithFields(fields...)
}

// Option says what a filter may name.
type Option func(*vocabulary)

// WithLabels says which labels department, environment, owner, product and team stand for. The default, also for nil, is
// allocation.DefaultLabelMapping. An alias of no label cannot be named.
func WithLabels(mapping allocation.LabelMapping) Option {
	return func(v *vocabulary) { v.labels = mapping }
}

// WithFields adds fields to those of allocations.
func WithFields(fields ...Derived) Option {
	return func(v *vocabulary) { v.derived = append(v.derived, fields...) }
}

// WithReplicaSets lets the kind replicaset also mean Deployments and Rollouts, whose pods are those of ReplicaSets.
func WithReplicaSets() Option {
	return func(v *vocabulary) { v.replicaSets = true }
}

// vocabulary is the set of fields that filters may use.
type vocabulary struct {
	fields  []fieldSpec
	labels  allocation.LabelMapping // nil is the default
	derived []Derived
	assets  bool
	known   labelnames.Names // that are in use
	// replicaSets says that the kind replicaset also means controllers of ReplicaSets.
	replicaSets bool
}

// fieldsOf is the vocabulary of filters of assets, or of allocations.
func (v vocabulary) fieldsOf(assets bool) vocabulary {
	v.assets, v.fields = assets, allocationFields
	if assets {
		v.fields = assetFields
	}
	return v
}

// find is the field of that name, nil where there is none. It must not be changed.
func (v *vocabulary) find(name Field) *fieldSpec {
	for i := range v.fields {
		if f := &v.fields[i]; (f.name == name || f.alias == name && name != "") && (f.kind != aliasField || !v.computes(name)) {
			return f
		}
	}
	if !v.assets {
		for _, d := range v.derived {
			if d.Name == string(name) {
				spec := &fieldSpec{name: name, bind: d.Bind, needs: allocation.OfRows(d.Needs)}
				if d.Of != nil {
					spec.saved = func(o *saved) string { return d.Of(o.properties()) }
				}
				return spec
			}
		}
	}
	return nil
}

// computes reports whether a field of allocations is a derived one.
func (v *vocabulary) computes(name Field) bool {
	return !v.assets && slices.ContainsFunc(v.derived, func(d Derived) bool { return d.Name == string(name) })
}

// names returns the fields that filters may write, in the order of the documentation.
func (v *vocabulary) names() []string {
	var names []string
	for i := range v.fields {
		if !v.fields[i].hidden {
			names = append(names, string(v.fields[i].name))
		}
	}
	if !v.assets {
		for _, d := range v.derived {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

// spec returns the field with that name. An unknown field is missing everywhere.
func (v *vocabulary) spec(name Field) *fieldSpec {
	if spec := v.find(name); spec != nil {
		return spec
	}
	nothing := func(int) string { return "" }
	return &fieldSpec{name: name, needs: allocation.OfRows(nil), bind: func(*allocation.Set) (func(int) string, error) { return nothing, nil }}
}

// example is a comparison as filters write it.
func (v *vocabulary) example() string {
	if v.assets {
		return `assetType:"node"`
	}
	return `namespace:"web"`
}

// sources are where an alias is looked for, the first of them that has it counts.
func (v *vocabulary) sources(label string) []Comparison {
	if v.assets {
		return []Comparison{{Field: Label, Key: "kubernetes_label_" + labelnames.Sanitize(label)}, {Field: Label, Key: label}}
	}
	return []Comparison{{Field: Label, Key: label}, {Field: Annotation, Key: label}}
}

// labelsOf are the labels that an alias stands for.
func (v *vocabulary) labelsOf(alias Field) []string {
	if v.labels == nil {
		return allocation.DefaultLabelMapping()[string(alias)]
	}
	return v.labels[string(alias)]
}

// kinds are values of controllerKind together with the kinds of controllers that own controllers of these kinds: the pods of a CronJob are
// those of Jobs, but rows name the CronJob.
func (v *vocabulary) kinds(values []string) []string {
	out := slices.Clone(values)
	for _, kind := range values {
		switch kind = strings.ToLower(kind); {
		case kind == "job":
			out = append(out, "cronjob")
		case kind == "replicaset" && v.replicaSets:
			out = append(out, "deployment", "rollout")
		}
	}
	return out
}

// expand turns a comparison of an alias, without its negation, into comparisons of the labels and annotations that it stands
// for: one of them must match. The alias is missing if all of them are.
func (v *vocabulary) expand(c *Comparison) Expr {
	var some Or
	var nothing And // all of them are missing
	var values []string
	for _, value := range c.Values {
		if positive(c.Op) != Equal || !missing(value) {
			values = append(values, value)
		}
	}
	for _, label := range v.labelsOf(c.Field) {
		var before And // that nothing is found in earlier sources
		sources := v.sources(label)
		for i := range sources {
			here, is := sources[i], sources[i]
			is.Op, is.Values, is.AnyCase = positive(c.Op), values, c.AnyCase
			here.Op, here.Values = NotEqual, []string{""}
			found := append(slices.Clone(before), &here, &is)
			if i == len(sources)-1 {
				found = append(slices.Clone(before), &is)
			}
			some = append(some, found)
			lacks := here
			lacks.Op = Equal
			before = append(before, &lacks)
		}
		nothing = append(nothing, before...)
	}
	if len(values) < len(c.Values) {
		some = append(some, nothing)
	}
	return some
}

// FieldNames are the names of the fields that filters of allocations may write, and those of assets, in the order of the
// documentation.
func FieldNames(r Resource) []string {
	v := vocabulary{}.fieldsOf(r == Assets)
	return v.names()
}
