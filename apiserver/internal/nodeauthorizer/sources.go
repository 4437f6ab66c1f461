package nodeauthorizer

import (
	"context"
	"fmt"
	"sync"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Source has the objects of one kind.
type Source struct {
	// Version returns a number that grows with every change.
	Version func() int64
	// Changes returns the changes since the revision that an earlier call returned, or all
	// objects. They include every change before the call.
	Changes func(ctx context.Context, since int64) (Changes, error)
}

// Changes are changes of the objects of a Source.
type Changes struct {
	// All reports that Set are all objects: the earlier ones do not matter.
	All bool
	// Each calls do for every change in order; object is the last state of a deleted object.
	Each func(do func(object runtime.Object, deleted bool))
	// Revision is the revision of the state after the changes.
	Revision int64
}

// Sources are the objects that an Authorizer decides by.
type Sources struct {
	Pods, PersistentVolumes, VolumeAttachments, ResourceSlices, PodCertificateRequests Source
}

// of returns the sources that decide about objects of a kind.
func (s *Sources) of(k kind) []kind {
	switch k {
	case secrets, volumes:
		return []kind{pods, volumes}
	case attachments, resourceSlices, podCertificates:
		return []kind{k}
	}
	return []kind{pods}
}

func (s *Sources) source(k kind) *Source {
	switch k {
	case volumes:
		return &s.PersistentVolumes
	case attachments:
		return &s.VolumeAttachments
	case resourceSlices:
		return &s.ResourceSlices
	case podCertificates:
		return &s.PodCertificateRequests
	}
	return &s.Pods
}

// relations keep a graph up to date with its sources. Nothing is read before the first
// decision that needs it, and then only the changes since the last one.
type relations struct {
	sources Sources

	// refreshing is held while the sources are read.
	refreshing sync.Mutex

	mu    sync.RWMutex
	graph *graph
	seen  map[kind]position
}

// position is how much of a source the graph has.
type position struct {
	version, revision int64
}

func newRelations(sources Sources) *relations {
	return &relations{sources: sources, graph: newGraph(), seen: map[kind]position{}}
}

// related reports whether a node may read an object, including every write before the call.
func (r *relations) related(ctx context.Context, node string, o object) (bool, error) {
	for _, k := range r.sources.of(o.kind) {
		if err := r.refresh(ctx, k); err != nil {
			return false, err
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.graph.related(node, o), nil
}

// current reports whether the graph has all of a source.
func (r *relations) current(k kind) (position, bool) {
	version := r.sources.source(k).Version()
	r.mu.RLock()
	defer r.mu.RUnlock()
	at, ok := r.seen[k]
	return position{version, at.revision}, ok && at.version == version
}

// refresh takes the changes of a source into the graph. If the source cannot be read, the
// graph stays as it is, and an error is returned only if it has never been complete.
func (r *relations) refresh(ctx context.Context, k kind) error {
	if _, ok := r.current(k); ok {
		return nil
	}
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	now, ok := r.current(k)
	if ok {
		return nil
	}
	changes, err := r.sources.source(k).Changes(ctx, now.revision)
	if err != nil {
		if now.revision > 0 {
			return nil
		}
		return fmt.Errorf("reading what nodes are related with: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes.All {
		r.graph.clear(k)
	}
	changes.Each(func(object runtime.Object, deleted bool) { r.graph.take(object, deleted) })
	r.seen[k] = position{now.version, changes.Revision}
	return nil
}

// clear drops all objects of a source.
func (g *graph) clear(k kind) {
	switch k {
	case pods:
		g.pods, g.refer = map[object]*boundPod{}, map[object]map[string]int{}
	case volumes:
		g.volumes, g.volumesOf = map[string]*claimedVolume{}, map[object]map[string]bool{}
	default:
		for o := range g.owned {
			if o.kind == k {
				delete(g.owned, o)
			}
		}
	}
}

// take takes a change into the graph.
func (g *graph) take(changed runtime.Object, deleted bool) {
	owned := func(k kind, meta *metav1.ObjectMeta, node string) {
		if deleted {
			node = ""
		}
		g.setOwned(object{k, meta.Namespace, meta.Name}, node)
	}
	switch changed := changed.(type) {
	case *corev1.Pod:
		if deleted {
			g.dropPod(object{pods, changed.Namespace, changed.Name})
			return
		}
		g.setPod(changed)
	case *corev1.PersistentVolume:
		if deleted {
			g.dropVolume(changed.Name)
			return
		}
		g.setVolume(changed)
	case *storagev1.VolumeAttachment:
		owned(attachments, &changed.ObjectMeta, changed.Spec.NodeName)
	case *resourcev1.ResourceSlice:
		owned(resourceSlices, &changed.ObjectMeta, ptr.Deref(changed.Spec.NodeName, ""))
	case *certificatesv1.PodCertificateRequest:
		owned(podCertificates, &changed.ObjectMeta, string(changed.Spec.NodeName))
	}
}
