package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/ownership"
	"minikcm.dev/minikcm/apiserver/resources"
)

// fieldManagers tracks field ownership (KEP-555) for every write. Where possible,
// writes other than applies are tracked by package ownership; the rest needs upstream's
// library and its schemas, which take 70 ms to build and are built on first use.
type fieldManagers struct {
	scheme    *runtime.Scheme
	converter func() managedfields.TypeConverter
	tracker   *ownership.Tracker

	mu       sync.Mutex
	managers map[fieldManagerKey]*managedfields.FieldManager
}

type fieldManagerKey struct {
	kind        schema.GroupVersionKind
	subresource string
}

func newFieldManagers(scheme *runtime.Scheme) *fieldManagers {
	return &fieldManagers{
		scheme:    scheme,
		converter: sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme) }),
		tracker:   ownership.NewTracker(),
		managers:  map[fieldManagerKey]*managedfields.FieldManager{},
	}
}

// of returns the library's manager for a kind and the subresource that it is written
// through.
func (f *fieldManagers) of(row *resources.Resource, kind schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	if row.FieldManager != nil && kind == row.GroupVersionKind {
		return row.FieldManager(subresource)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fieldManagerKey{kind, subresource}
	if m := f.managers[key]; m != nil {
		return m, nil
	}
	reset := notOwned(row, subresource)
	version := fieldpath.APIVersion(kind.GroupVersion().String())
	converter := managedfields.NewDeducedTypeConverter()
	if f.hasSchema(kind) {
		converter = f.converter()
	}
	m, err := managedfields.NewDefaultFieldManager(converter, f.scheme, f.scheme, f.scheme, kind, kind.GroupVersion(), subresource,
		map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(reset)})
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("making the field manager of %s: %w", kind.Kind, err))
	}
	f.managers[key] = m
	return m, nil
}

// hasSchema reports whether the type converter knows a kind: client-go's knows all
// kinds except Scale, which has no lists or maps that need a schema.
func (f *fieldManagers) hasSchema(kind schema.GroupVersionKind) bool {
	return kind.Kind != "Scale"
}

// leftAlone returns the field that a write through a subresource, or through the main
// resource, cannot set.
func leftAlone(subresource string) string {
	if subresource == "status" {
		return "spec"
	}
	return "status"
}

// notOwned returns the fields whose ownership such a write does not record.
func notOwned(row *resources.Resource, subresource string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range row.Strategy.NotOwned[subresource] {
		var parts []any
		for name := range strings.SplitSeq(path, ".") {
			parts = append(parts, name)
		}
		set.Insert(fieldpath.MakePathOrDie(parts...))
	}
	if set.Empty() {
		set.Insert(fieldpath.MakePathOrDie(leftAlone(subresource)))
	}
	return set
}

// trackCreate records the owner of a new object's fields.
func (f *fieldManagers) trackCreate(rq *request, obj runtime.Object, owner string) (runtime.Object, error) {
	live := rq.row.New()
	if f.trackFast(rq, obj, live, owner) {
		return obj, nil
	}
	return f.trackByLibrary(rq, obj, live, owner)
}

// trackUpdate records the owner of the fields that an update changed. An object without
// managed fields stays without, as upstream objects that predate the feature.
func (f *fieldManagers) trackUpdate(rq *request, obj, old runtime.Object, owner string) (runtime.Object, error) {
	if f.trackFast(rq, obj, old, owner) {
		return obj, nil
	}
	return f.trackByLibrary(rq, obj, old.DeepCopyObject(), owner)
}

func (f *fieldManagers) trackByLibrary(rq *request, obj, live runtime.Object, owner string) (runtime.Object, error) {
	m, err := f.of(rq.row, rq.row.GroupVersionKind, rq.Subresource)
	if err != nil {
		return nil, err
	}
	return f.update(rq, m, live, obj, owner), nil
}

// trackFast records the owner without the library, and reports whether that was
// possible. If the client sends managed fields other than the stored ones, the library
// must handle them.
func (f *fieldManagers) trackFast(rq *request, obj, live runtime.Object, owner string) bool {
	if rq.row.FieldManager != nil || rq.row.Custom || rq.row.Strategy.NotOwned != nil {
		return false
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	before, sent := managedFieldsOf(live), m.GetManagedFields()
	if rq.Subresource == "" && sent != nil && !slices.EqualFunc(sent, before, sameEntry) {
		return false
	}
	if l, err := meta.Accessor(live); err == nil && len(before) == 0 && l.GetUID() != "" {
		m.SetManagedFields(nil)
		return true
	}
	managed, ok := f.tracker.Track(&ownership.Write{
		Live: live, New: obj, Managed: before, Manager: cmp.Or(owner, "unknown"), APIVersion: rq.row.GroupVersion().String(),
		Subresource: rq.Subresource, Time: rq.server.now(), Ignored: leftAlone(rq.Subresource),
	})
	if ok && rq.speaksScale() {
		managed = withoutTime(managed, rq.Subresource, cmp.Or(owner, "unknown"))
	}
	if ok {
		m.SetManagedFields(managed)
	}
	return ok
}

// speaksScale reports whether the request is for the scale of an object.
func (rq *request) speaksScale() bool { return rq.sub != nil && rq.sub.Replicas != nil }

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

// serverManager is the field manager of the server's own writes, as upstream.
const serverManager = "kube-apiserver"

// trackOwn records the server itself as the owner of an object, under the names that
// upstream uses.
func (f *fieldManagers) trackOwn(row *resources.Resource, m metav1.Object, now metav1.Time) {
	f.trackAs(row, m, row.New(), "", cmp.Or(row.Strategy.ServerManager, serverManager), now)
}

// trackAs records manager as the owner of the fields of m that differ from live. It
// does not use the library.
func (f *fieldManagers) trackAs(row *resources.Resource, m metav1.Object, live runtime.Object, subresource, manager string, now metav1.Time) {
	obj, ok := m.(runtime.Object)
	if !ok || row.Custom {
		return
	}
	managed, ok := f.tracker.Track(&ownership.Write{
		Live: live, New: obj, Managed: managedFieldsOf(live), Manager: manager, APIVersion: row.GroupVersion().String(),
		Subresource: subresource, Time: now, Ignored: leftAlone(subresource),
	})
	if ok {
		m.SetManagedFields(managed)
	}
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource &&
		a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) && a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.Equal(*b.FieldsV1)
}

func (f *fieldManagers) update(rq *request, m *managedfields.FieldManager, live, obj runtime.Object, owner string) runtime.Object {
	kind := rq.row.GroupVersionKind
	before := managedFieldsOf(live)
	live.GetObjectKind().SetGroupVersionKind(kind)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	tracked := m.UpdateNoErrors(live, obj, owner)
	clearTypeMeta(tracked)
	stampManagedFields(tracked, before, rq.server.now())
	return tracked
}

// apply merges a server-side apply into live, which must be a private copy.
func (f *fieldManagers) apply(rq *request, live, applied runtime.Object, owner string, force bool) (runtime.Object, error) {
	m, err := f.of(rq.row, rq.kind(), rq.Subresource)
	if err != nil {
		return nil, err
	}
	before := managedFieldsOf(live)
	live.GetObjectKind().SetGroupVersionKind(rq.kind())
	merged, err := m.Apply(live, applied, owner, force)
	if err != nil {
		return nil, err
	}
	clearTypeMeta(merged)
	stampManagedFields(merged, before, rq.server.now())
	return merged, nil
}

// stampManagedFields sets the cluster's time in new and changed entries, in which the
// library has put real time.
func stampManagedFields(obj runtime.Object, before []metav1.ManagedFieldsEntry, now metav1.Time) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	type identity struct {
		manager, version, subresource string
		operation                     metav1.ManagedFieldsOperationType
	}
	of := func(e *metav1.ManagedFieldsEntry) identity {
		return identity{e.Manager, e.APIVersion, e.Subresource, e.Operation}
	}
	times := make(map[identity]*metav1.Time, len(before))
	for i := range before {
		times[of(&before[i])] = before[i].Time
	}
	entries := m.GetManagedFields()
	for i := range entries {
		// An apply without changes has no time.
		if taken := entries[i].Time; taken != nil && !taken.Equal(times[of(&entries[i])]) {
			entries[i].Time = &now
		}
	}
	m.SetManagedFields(entries)
}

func managedFieldsOf(obj runtime.Object) []metav1.ManagedFieldsEntry {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return m.GetManagedFields()
}

// maxFieldManager is the maximum length of a field manager's name (meta/v1 validation).
const maxFieldManager = 128

// fieldOwner returns the field manager of a write: fieldManager if given, otherwise the
// first part of the User-Agent. For components in this process it is the name of the
// program that they are upstream.
func fieldOwner(rq *request, fieldManager string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(rq.r.UserAgent(), "/")
	if rq.local && name == ownAgent {
		name = componentOf(rq.user.Name)
	}
	name = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, name)
	if len(name) > maxFieldManager {
		name = name[:maxFieldManager]
	}
	return name
}

// isComponent reports whether the request comes from a component in this process, not
// from a client of the embedding program.
func (rq *request) isComponent() bool { return rq.local && componentOf(rq.user.Name) != ownAgent }

// ownAgent is the prefix of the User-Agents of the process's own clients.
const ownAgent = "minikcm"

// componentOf returns the program that an in-process user is in a real cluster.
func componentOf(user string) string {
	switch {
	case user == "system:kube-scheduler":
		return "kube-scheduler"
	case strings.HasPrefix(user, "system:node:"):
		return "kubelet"
	case user == "system:kube-controller-manager", strings.HasPrefix(user, "system:serviceaccount:kube-system:"):
		return "kube-controller-manager"
	}
	return ownAgent
}
