package forkapi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/comparison"
	"minikcm.dev/minikcm/internal/dump"
)

// maxWrites caps the newest writes of a cluster that a comparison shows.
const maxWrites = 20

// side follows the objects of one cluster: a list, and then each write. It observes writes before it lists, so
// that it misses none; a write that the list shows already is dropped:
//
//	requests that write           the comparison
//	                              newSide: observes
//	web at revision 41: changed
//	                              list: web at revision 41
//	web at revision 43: changed
//	                              apply: sets web as listed, then as of 43
//	web at revision 42 ends last
//	(it was stored before 43):
//	changed
//	                              apply: 42 is older than what the last apply set: dropped
type side struct {
	cluster *minikcm.Cluster
	wake    func()
	stop    func()
	// listed are the objects of the list, until they are applied, and versions the API
	// versions in which the kinds are compared.
	listed   []*unstructured.Unstructured
	versions map[schema.GroupKind]string
	// applied are the revisions of the objects that the last apply set: a write that ends late may be
	// recorded after a newer one of its object.
	applied map[comparison.Key]int64

	mu sync.Mutex
	// changed are the last writes of the objects since the previous apply.
	changed map[comparison.Key]changed
	writes  []minikcm.Write
	newest  int64
}

// changed is the state of an object after its last write; object is nil if that removed it.
type changed struct {
	revision int64
	resource schema.GroupVersionResource
	object   runtime.Object
}

// newSide begins to follow the writes to a cluster. wake is called after each.
func newSide(cluster *minikcm.Cluster, wake func()) *side {
	s := &side{cluster: cluster, wake: wake, versions: map[schema.GroupKind]string{}, changed: map[comparison.Key]changed{}}
	s.stop = cluster.Writes().ObserveObjects(func(w *minikcm.Write, _, obj runtime.Object) { s.wrote(w, obj) })
	return s
}

// wrote is called in the request that wrote.
func (s *side) wrote(w *minikcm.Write, obj runtime.Object) {
	if isHistory(w) {
		return
	}
	change := changed{revision: w.Revision, resource: schema.GroupVersionResource(w.Resource)}
	if w.Effect != minikcm.Removed {
		change.object = obj.DeepCopyObject() // the request goes on with its own
	}
	key := comparison.Key{Group: w.Resource.Group, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
	s.mu.Lock()
	if change.revision > s.changed[key].revision { // concurrent writes are recorded as they end
		s.changed[key] = change
	}
	s.addLocked(*w)
	s.mu.Unlock()
	s.wake()
}

// isHistory reports whether a write says what happened, or that its writer is alive.
func isHistory(w *minikcm.Write) bool {
	return w.Resource.Resource == "events" || w.Resource.Resource == "leases"
}

// addLocked adds a write in the place of its revision, unless it is there.
func (s *side) addLocked(w minikcm.Write) {
	s.newest = max(s.newest, w.Revision)
	at, there := slices.BinarySearchFunc(s.writes, w.Revision, func(w minikcm.Write, revision int64) int { return cmp.Compare(w.Revision, revision) })
	if there {
		return
	}
	s.writes = slices.Insert(s.writes, at, w)
	if surplus := len(s.writes) - maxWrites; surplus > 0 {
		s.writes = slices.Delete(s.writes, 0, surplus)
	}
}

// list lists the objects. What is written meanwhile is applied after the list.
func (s *side) list(ctx context.Context) error {
	namespaces, err := s.cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	now, err := strconv.ParseInt(namespaces.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("parsing the newest revision: %w", err)
	}
	earlier := s.cluster.Writes().Writes(func(w *minikcm.Write) bool {
		return w.Revision > now-20*maxWrites && w.Revision <= now && !isHistory(w)
	})
	s.mu.Lock()
	since := s.writes
	s.writes = nil
	for _, w := range append(earlier, since...) {
		s.addLocked(w)
	}
	s.newest = max(s.newest, now)
	s.mu.Unlock()
	objects, err := dump.FromCluster(ctx, s.cluster.Config())
	if err != nil {
		return err
	}
	s.listed = slices.Collect(objects.Objects())
	return nil
}

// apply calls set with the objects of the list, and then with the objects that were written since
// the previous call.
func (s *side) apply(ctx context.Context, set func(comparison.Key, map[string]any)) error {
	applied := map[comparison.Key]int64{}
	for _, o := range s.listed {
		s.versions[o.GroupVersionKind().GroupKind()] = o.GroupVersionKind().Version
		applied[keyOf(o)], _ = strconv.ParseInt(o.GetResourceVersion(), 10, 64) // a revision of our store
		if !dump.IsOwn(o) {
			set(keyOf(o), o.Object)
		}
	}
	s.mu.Lock()
	changes := maps.Clone(s.changed)
	clear(s.changed)
	s.mu.Unlock()
	before := s.applied
	if s.listed != nil {
		before = maps.Clone(applied)
	}
	s.listed, s.applied = nil, applied
	for key, change := range changes {
		if change.revision <= before[key] {
			continue
		}
		applied[key] = change.revision
		o, err := s.read(ctx, key, change)
		switch {
		case err != nil:
			return err
		case o == nil:
			set(key, nil)
		case !dump.IsOwn(o):
			set(key, o.Object)
		}
	}
	return nil
}

func keyOf(o *unstructured.Unstructured) comparison.Key {
	gvk := o.GroupVersionKind()
	return comparison.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// read returns the written object in the version in which its kind is compared; nil if there is none
// any more. The object is asked for if it was written in another version.
func (s *side) read(ctx context.Context, key comparison.Key, change changed) (*unstructured.Unstructured, error) {
	if change.object == nil {
		return nil, nil
	}
	kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	version := versionOf(change.object)
	if s.versions[kind] == "" {
		s.versions[kind] = version
	}
	if version == s.versions[kind] {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(change.object)
		if err != nil {
			return nil, fmt.Errorf("converting %s %s: %w", key.Kind, key.Name, err)
		}
		o := &unstructured.Unstructured{Object: content}
		o.SetGroupVersionKind(kind.WithVersion(version))
		return o, nil
	}
	client, err := dynamic.NewForConfig(s.cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	o, err := client.Resource(change.resource.GroupResource().WithVersion(s.versions[kind])).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// versionOf returns the API version of an object; empty if it is not known.
func versionOf(o runtime.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.GroupVersionKind().Version
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil || len(kinds) == 0 {
		return ""
	}
	return kinds[0].Version
}

// show shows the clock and the newest writes.
func (s *side) show(into *Compared) {
	into.Clock = s.cluster.Info().Clock
	s.mu.Lock()
	defer s.mu.Unlock()
	into.Revision, into.Writes = s.newest, append([]minikcm.Write{}, s.writes...)
}
