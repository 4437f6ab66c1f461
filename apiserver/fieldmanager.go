package apiserver

import (
	"fmt"
	"net/http"
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

	"minikcm.dev/minikcm/apiserver/resources"
)

// fieldManagers track who owns which field (KEP-555). Tracking starts with the
// first write of an object that comes from outside the process, or with its first
// apply; writes of in-process controllers to objects that nobody else has touched
// are not tracked, since it costs more than all the rest of such a write
// (docs/decisions). Everything is built on first use: the schema alone takes 70 ms.
type fieldManagers struct {
	scheme    *runtime.Scheme
	converter func() managedfields.TypeConverter

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
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if subresource == "status" {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	}
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

// trackCreate notes the owner of a new object's fields.
func (f *fieldManagers) trackCreate(rq *request, obj runtime.Object, owner string) (runtime.Object, error) {
	if rq.local && len(managedFieldsOf(obj)) == 0 {
		return obj, nil
	}
	m, err := f.of(rq.row, rq.row.GroupVersionKind, rq.Subresource)
	if err != nil {
		return nil, err
	}
	return f.update(rq, m, rq.row.New(), obj, owner), nil
}

// trackUpdate notes who owns the fields that an update changed.
func (f *fieldManagers) trackUpdate(rq *request, obj, old runtime.Object, owner string) (runtime.Object, error) {
	if rq.local && len(managedFieldsOf(old)) == 0 {
		return obj, nil
	}
	m, err := f.of(rq.row, rq.row.GroupVersionKind, rq.Subresource)
	if err != nil {
		return nil, err
	}
	return f.update(rq, m, old.DeepCopyObject(), obj, owner), nil
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
		if known := times[of(&entries[i])]; known == nil || !known.Equal(entries[i].Time) {
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
// the User-Agent.
func fieldOwner(r *http.Request, fieldManager string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(r.UserAgent(), "/")
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
