package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
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

// fieldManagers track who owns which field (KEP-555), for every write of every kind.
// Writes other than applies are tracked by package ownership where it can; the library
// and its schemas, which take 70 ms to build, are for the rest, and built on first use.
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

// of returns the manager for a kind and the subresource that it is written through.
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

// hasSchema says whether the type converter knows a kind: client-go's knows all but
// Scale, which has neither lists nor maps that would need one.
func (f *fieldManagers) hasSchema(kind schema.GroupVersionKind) bool {
	return kind.Kind != "Scale"
}

// leftAlone is the field that a write through a subresource, or past it, cannot set.
func leftAlone(subresource string) string {
	if subresource == "status" {
		return "spec"
	}
	return "status"
}

// notOwned are the fields that nobody comes to own by such a write.
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

// trackCreate notes the owner of a new object's fields.
func (f *fieldManagers) trackCreate(rq *request, obj runtime.Object, owner string) (runtime.Object, error) {
	live := rq.row.New()
	if f.trackFast(rq, obj, live, owner) {
		return obj, nil
	}
	return f.trackByLibrary(rq, obj, live, owner)
}

// trackUpdate notes who owns the fields that an update changed. Objects that nobody
// has begun to track stay so, as upstream's that are older than the feature.
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

// trackFast notes the owner without the library, if that can be done. What a client
// sends as managed fields, unless they are the object's own, is for the library.
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

// speaksScale says that the request is for the scale of an object.
func (rq *request) speaksScale() bool { return rq.sub != nil && rq.sub.Kind == "Scale" }

// withoutTime puts the entry of a manager first of those of updates, and takes its time
// away: so upstream's look whose fields went through a scale, which is another object.
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

// serverManager is whom what the server itself writes belongs to, as upstream has it.
const serverManager = "kube-apiserver"

// trackOwn notes that the server itself made an object, by the names that upstream's
// has for it.
func (f *fieldManagers) trackOwn(row *resources.Resource, m metav1.Object, now metav1.Time) {
	manager := serverManager
	if row.Group == flowcontrolv1.GroupName {
		manager = "api-priority-and-fairness-config-producer-v1"
	}
	f.trackAs(row, m, row.New(), "", manager, now)
}

// trackAs notes that the server itself made an object out of live, as that manager. It
// never needs the library.
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

// apply merges a server-side apply into live (a private copy).
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

// stampManagedFields gives the entries that are new or changed the cluster's time:
// the library took the machine's.
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
		// An apply that changes nothing has no time.
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

// maxFieldManager is the longest name of a field's owner (meta/v1 validation).
const maxFieldManager = 128

// fieldOwner names who writes: fieldManager if given, otherwise the first part of
// the User-Agent. Upstream's components are programs of their own, whose name it is.
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

// isComponent says that a component of the process asks, not one of its users.
func (rq *request) isComponent() bool { return rq.local && componentOf(rq.user.Name) != ownAgent }

// ownAgent begins the User-Agents of the process's own clients.
const ownAgent = "minikcm"

// componentOf is the program that a user of the process is in a real cluster.
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
