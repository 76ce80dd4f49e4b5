package kubeapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/promcost/promcost/allocation/visible"
)

// Resource is a resource of the group as an API server installs it: it implements the interfaces rest.Storage, Scoper, Getter, Lister,
// Watcher, TableConvertor, SingularNameProvider and ShortNamesProvider of k8s.io/apiserver.
type Resource struct {
	*row
	server *Server
	// namespace is that of a request, "" for all.
	namespace func(context.Context) string
	// warn shows a warning to who asks.
	warn func(ctx context.Context, text string)
}

// Request says what an API server knows of a request: its namespace, "" for all, and how warnings are sent.
type Request struct {
	Namespace func(context.Context) string
	Warn      func(ctx context.Context, text string)
}

// Resources are the resources of the group over a server, by their names.
func Resources(s *Server, r Request) map[string]*Resource {
	resources := map[string]*Resource{}
	for _, row := range rows() {
		resources[row.plural] = &Resource{row, s, r.Namespace, r.Warn}
	}
	return resources
}

// New implements rest.Storage.
func (r *Resource) New() runtime.Object { return r.newObject() }

// Destroy implements rest.Storage.
func (r *Resource) Destroy() {}

// NewList implements rest.Lister.
func (r *Resource) NewList() runtime.Object { return r.newList() }

// NamespaceScoped implements rest.Scoper.
func (r *Resource) NamespaceScoped() bool { return r.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (r *Resource) GetSingularName() string { return r.singular }

// ShortNames implements rest.ShortNamesProvider.
func (r *Resource) ShortNames() []string { return r.short }

// group is the resource with its group.
func (r *Resource) group() schema.GroupResource {
	return schema.GroupResource{Group: GroupVersion.Group, Resource: r.plural}
}

// Get implements rest.Getter. The name may have a window behind a colon.
func (r *Resource) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	base, window, suffix := name, "", ""
	if r.windowed {
		base, window, suffix = splitName(name)
		if _, err := parseWindow(window); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	e, err := r.snapshot(ctx, window)
	if err != nil {
		return nil, err
	}
	snap := e.snapshot
	i, ok := slices.BinarySearchFunc(snap.items, item{namespace: r.namespace(ctx), name: base}, compareItems)
	if !ok {
		err := apierrors.NewNotFound(r.group(), name)
		for _, text := range snap.notices {
			err.ErrStatus.Message += ": " + text
		}
		return nil, err
	}
	r.notify(ctx, snap)
	return r.object(snap, &snap.items[i], window, suffix), nil
}

// snapshot is that of a request's namespace.
func (r *Resource) snapshot(ctx context.Context, window string) (*entry, error) {
	k := key{resource: r.plural, window: window}
	if r.namespaced {
		k.namespace = r.namespace(ctx)
	}
	return r.server.get(ctx, k, r.read)
}

// token is where a list goes on.
type token struct {
	Version   int64  `json:"v"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"` // of the last item before
}

// maxToken is the longest text of a token.
const maxToken = 2048

// parseToken reads a continue.
func parseToken(text string) (t token, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text[:min(len(text), maxToken)])
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, apierrors.NewBadRequest(fmt.Sprintf("continue %.40q is not valid: give that of the list before", text))
	}
	return t, nil
}

// String is the token as a continue.
func (t token) String() string {
	raw, err := json.Marshal(t)
	if err != nil {
		panic("BUG: encode continue: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// List implements rest.Lister.
func (r *Resource) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	if o == nil {
		o = &internalversion.ListOptions{}
	}
	sel, err := r.selects(o)
	if err != nil {
		return nil, err
	}
	e, err := r.snapshot(ctx, sel.window)
	if err != nil {
		return nil, err
	}
	snap := e.snapshot
	if err := r.checkVersion(o, snap.version); err != nil {
		return nil, err
	}
	from := 0
	if o.Continue != "" {
		t, err := parseToken(o.Continue)
		if err != nil {
			return nil, err
		}
		if t.Version != snap.version {
			return nil, apierrors.NewResourceExpired("a newer hour is closed than that of the continue parameter: list again without it")
		}
		i, ok := slices.BinarySearchFunc(snap.items, item{namespace: t.Namespace, name: t.Name}, compareItems)
		if from = i; ok {
			from++
		}
	}
	indices, rest := sel.page(snap, r.bounds(ctx, snap), from, o.Limit)
	if err := r.server.send(ctx, len(indices)); err != nil {
		return nil, err
	}
	if from == 0 {
		r.notify(ctx, snap)
		if r.namespace(ctx) == "" { // warnings name things of all namespaces
			for _, text := range snap.warnings[:min(len(snap.warnings), maxWarnings)] {
				r.warn(ctx, text)
			}
		}
	}
	list := r.newList()
	items := &metav1.ListMeta{ResourceVersion: versionText(snap.version)}
	if rest > 0 {
		last := &snap.items[indices[len(indices)-1]]
		items.Continue = token{snap.version, last.namespace, last.name}.String()
		if sel.everything() {
			items.RemainingItemCount = &rest
		}
	}
	r.fill(list, *items, snap, indices, sel)
	return list, nil
}

// maxWarnings is how many of promcost's warnings, and how many notices, a list shows.
const maxWarnings = 10

// notify shows whoever asks what the window of a snapshot lacks.
func (r *Resource) notify(ctx context.Context, snap *snapshot) {
	for _, text := range snap.notices[:min(len(snap.notices), maxWarnings)] {
		r.warn(ctx, text)
	}
}

// bounds are the items of a request's namespace.
func (r *Resource) bounds(ctx context.Context, snap *snapshot) (between [2]int) {
	between = [2]int{0, len(snap.items)}
	if namespace := r.namespace(ctx); namespace != "" && r.namespaced {
		between[0], _ = slices.BinarySearchFunc(snap.items, item{namespace: namespace}, compareItems)
		between[1], _ = slices.BinarySearchFunc(snap.items, item{namespace: namespace + "\x00"}, compareItems)
	}
	return between
}

// checkVersion checks the resourceVersion of a list against that of what there is.
func (r *Resource) checkVersion(o *internalversion.ListOptions, version int64) error {
	if o.ResourceVersion == "" || o.ResourceVersion == "0" {
		return nil
	}
	asked, err := parseVersion(o.ResourceVersion)
	switch {
	case err != nil:
		return err
	case asked > version:
		return tooNew(asked, version)
	case asked < version && (o.ResourceVersionMatch == metav1.ResourceVersionMatchExact):
		return tooOld(asked, version)
	}
	return nil
}

// parseVersion reads a resourceVersion.
func parseVersion(text string) (int64, error) {
	version, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %.40q is not valid: give that of a list", text))
	}
	return int64(version), nil
}

// tooOld is the error for an hour that is not kept any more.
func tooOld(requested, version int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d): list again", requested, version))
}

// tooNew is the error for an hour that is not closed yet, as Kubernetes has it.
func tooNew(requested, version int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", requested, version), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// ConvertToTable implements rest.TableConvertor.
func (r *Resource) ConvertToTable(_ context.Context, o, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	if opt, ok := options.(*metav1.TableOptions); !ok || !opt.NoHeaders {
		for _, c := range r.columns {
			t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: c.name, Type: "string", Format: c.format, Description: c.help, Priority: c.priority})
		}
	}
	add := func(o runtime.Object) error {
		cells := make([]any, len(r.columns))
		for i, c := range r.columns {
			cells[i] = visible.Text(c.cell(o))
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if list, err := meta.ListAccessor(o); err == nil {
		t.ResourceVersion, t.Continue, t.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		t.Rows = make([]metav1.TableRow, 0, meta.LenList(o))
		return t, meta.EachListItem(o, add)
	}
	one, err := meta.Accessor(o)
	if err != nil {
		return nil, fmt.Errorf("make table of %T: %w", o, err)
	}
	t.ResourceVersion = one.GetResourceVersion()
	return t, add(o)
}
