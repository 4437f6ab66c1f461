package fieldmanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"minikcm.dev/minikcm/apiserver/internal/ownership"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// Managers tracks field ownership (KEP-555) for every write. Where possible,
// writes other than applies are tracked by package ownership; the rest needs upstream's
// library and its schemas, which take 70 ms to build and are built on first use.
type Managers struct {
	scheme    *runtime.Scheme
	converter func() managedfields.TypeConverter
	tracker   *ownership.Tracker

	mu       sync.Mutex
	managers map[managerKey]*managedfields.FieldManager

	empty sync.Map // of *resources.Resource: an empty object
}

type managerKey struct {
	kind        schema.GroupVersionKind
	subresource string
}

func New(scheme *runtime.Scheme) *Managers {
	return &Managers{
		scheme:    scheme,
		converter: sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme) }),
		tracker:   ownership.NewTracker(),
		managers:  map[managerKey]*managedfields.FieldManager{},
	}
}

// of returns the library's manager for a kind and the subresource that it is written
// through.
func (f *Managers) of(row *resources.Resource, kind schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	if row.FieldManager != nil && kind == row.GroupVersionKind {
		return row.FieldManager(subresource)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := managerKey{kind, subresource}
	if m := f.managers[key]; m != nil {
		return m, nil
	}
	reset := notOwned(row, subresource)
	version := fieldpath.APIVersion(kind.GroupVersion().String())
	m, err := managedfields.NewDefaultFieldManager(f.Types(kind), f.scheme, f.scheme, f.scheme, kind, kind.GroupVersion(), subresource,
		map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(reset)})
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("making the field manager of %s: %w", kind.Kind, err))
	}
	f.managers[key] = m
	return m, nil
}

// Types returns the schemas of a built-in kind.
func (f *Managers) Types(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if f.hasSchema(kind) {
		return f.converter()
	}
	return managedfields.NewDeducedTypeConverter()
}

// hasSchema reports whether the type converter knows a kind: client-go's knows all
// kinds except Scale, which has no lists or maps that need a schema.
func (f *Managers) hasSchema(kind schema.GroupVersionKind) bool {
	return kind.Kind != "Scale"
}

// leftAlone returns the fields that a write through a subresource, or through the main
// resource, cannot set.
func leftAlone(row *resources.Resource, subresource string) []string {
	if fields := row.Strategy.NotOwned[subresource]; fields != nil {
		return fields
	}
	if subresource == "status" {
		return append([]string{"spec"}, row.Strategy.StatusKeeps...)
	}
	return []string{"status"}
}

// notOwned returns the fields whose ownership such a write does not record.
func notOwned(row *resources.Resource, subresource string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range leftAlone(row, subresource) {
		var parts []any
		for name := range strings.SplitSeq(path, ".") {
			parts = append(parts, name)
		}
		set.Insert(fieldpath.MakePathOrDie(parts...))
	}
	return set
}

// Write is a write whose fields get an owner.
type Write struct {
	Row *resources.Resource
	// Subresource is the subresource that the object is written through; empty for the main resource.
	Subresource string
	// Kind is the kind that the client sends: the row's, or the subresource's.
	Kind schema.GroupVersionKind
	// Scale reports that the write is made through a scale.
	Scale bool
	// Manager is the name of the owner.
	Manager string
	Now     metav1.Time
}

// TrackCreate records the owner of a new object's fields.
func (f *Managers) TrackCreate(w *Write, obj runtime.Object) (runtime.Object, error) {
	if isPlanned(w.Row) && f.trackFast(w, obj, f.emptyOf(w.Row)) {
		return obj, nil
	}
	return f.trackByLibrary(w, obj, w.Row.New())
}

// isPlanned reports whether the tracker has plans for the row's type.
func isPlanned(row *resources.Resource) bool { return row.FieldManager == nil && !row.Custom }

// emptyOf returns an empty object of a row, which must not be modified.
func (f *Managers) emptyOf(row *resources.Resource) runtime.Object {
	if known, ok := f.empty.Load(row); ok {
		return known.(runtime.Object)
	}
	known, _ := f.empty.LoadOrStore(row, row.New())
	return known.(runtime.Object)
}

// TrackUpdate records the owner of the fields that an update changed. An object without
// managed fields stays without, as upstream objects that predate the feature.
func (f *Managers) TrackUpdate(w *Write, obj, old runtime.Object) (runtime.Object, error) {
	if isPlanned(w.Row) && f.trackFast(w, obj, old) {
		return obj, nil
	}
	return f.trackByLibrary(w, obj, old.DeepCopyObject())
}

func (f *Managers) trackByLibrary(w *Write, obj, live runtime.Object) (runtime.Object, error) {
	m, err := f.of(w.Row, w.Row.GroupVersionKind, w.Subresource)
	if err != nil {
		return nil, err
	}
	return f.update(w, m, live, obj), nil
}

// trackFast records the owner without the library, and reports whether that was
// possible. If the client sends managed fields other than the stored ones, the library
// must handle them.
func (f *Managers) trackFast(w *Write, obj, live runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	before, sent := Entries(live), m.GetManagedFields()
	if w.Subresource == "" && sent != nil && !slices.EqualFunc(sent, before, sameEntry) {
		return false
	}
	if l, err := meta.Accessor(live); err == nil && len(before) == 0 && l.GetUID() != "" {
		m.SetManagedFields(nil)
		return true
	}
	managed, ok := f.tracker.Track(&ownership.Write{
		Live: live, New: obj, Managed: before, Manager: cmp.Or(w.Manager, "unknown"), APIVersion: w.Row.GroupVersion().String(),
		Subresource: w.Subresource, Time: w.Now, Ignored: leftAlone(w.Row, w.Subresource),
	})
	if ok && w.Scale {
		managed = withoutTime(managed, w.Subresource, cmp.Or(w.Manager, "unknown"))
	}
	if ok {
		m.SetManagedFields(managed)
	}
	return ok
}

// withoutTime moves a manager's entry before the other update entries and removes its
// time. Upstream's entries look like this for fields that were changed through a scale.
func withoutTime(entries []metav1.ManagedFieldsEntry, subresource, manager string) []metav1.ManagedFieldsEntry {
	isIt := func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == subresource && e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate
	}
	i := slices.IndexFunc(entries, isIt)
	if i < 0 {
		return entries
	}
	entry := entries[i]
	entry.Time = nil
	rest := slices.Delete(slices.Clone(entries), i, i+1)
	first := slices.IndexFunc(rest, func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if first < 0 {
		first = len(rest)
	}
	return slices.Insert(rest, first, entry)
}

// ServerName is the field manager of the server's own writes, as upstream.
const ServerName = "kube-apiserver"

// TrackOwn records the server itself as the owner of an object, under the names that
// upstream uses.
func (f *Managers) TrackOwn(row *resources.Resource, m metav1.Object, now metav1.Time) {
	f.TrackAs(row, m, row.New(), "", cmp.Or(row.Strategy.ServerManager, ServerName), now)
}

// TrackAs records manager as the owner of the fields of m that differ from live. It
// does not use the library.
func (f *Managers) TrackAs(row *resources.Resource, m metav1.Object, live runtime.Object, subresource, manager string, now metav1.Time) {
	obj, ok := m.(runtime.Object)
	if !ok || row.Custom {
		return
	}
	managed, ok := f.tracker.Track(&ownership.Write{
		Live: live, New: obj, Managed: Entries(live), Manager: manager, APIVersion: row.GroupVersion().String(),
		Subresource: subresource, Time: now, Ignored: leftAlone(row, subresource),
	})
	if ok {
		m.SetManagedFields(managed)
	}
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource &&
		a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) && a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.Equal(*b.FieldsV1)
}

func (f *Managers) update(w *Write, m *managedfields.FieldManager, live, obj runtime.Object) runtime.Object {
	kind := w.Row.GroupVersionKind
	before := Entries(live)
	live.GetObjectKind().SetGroupVersionKind(kind)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	tracked := m.UpdateNoErrors(live, obj, w.Manager)
	strategy.ClearTypeMeta(tracked)
	stampManagedFields(tracked, before, w.Now)
	return tracked
}

// Apply merges a server-side apply into live, which must be a private copy.
func (f *Managers) Apply(w *Write, live, applied runtime.Object, force bool) (runtime.Object, error) {
	m, err := f.of(w.Row, w.Kind, w.Subresource)
	if err != nil {
		return nil, err
	}
	before := Entries(live)
	live.GetObjectKind().SetGroupVersionKind(w.Kind)
	merged, err := m.Apply(live, applied, w.Manager, force)
	if err != nil {
		return nil, err
	}
	strategy.ClearTypeMeta(merged)
	stampManagedFields(merged, before, w.Now)
	return merged, nil
}

// Entries returns the managed fields of an object.
func Entries(obj runtime.Object) []metav1.ManagedFieldsEntry {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return m.GetManagedFields()
}
