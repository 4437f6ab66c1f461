package difference

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/btree"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	endpointsliceutil "k8s.io/endpointslice/util"
)

// Record tracks the slices of one service, as the events show them, and what has changed since its
// last reconcile.
type Record struct {
	most int
	// all is true if the next reconcile reads everything.
	all  bool
	last basis
	// changed are the names of the pods that have changed since the last Take.
	changed sets.Set[string]
	slices  map[string]*discoveryv1.EndpointSlice
	groups  map[string]group
	// listing has the names of the slices that list a pod.
	listing map[string][]string
	// filled has the slices of a group, the fullest first.
	filled map[group]*btree.BTreeG[filling]
	// endpoints is the number of endpoints of a group.
	endpoints map[group]int
	// written has the versions of the slices that the service's reconciles have written or
	// read. A suspect is a slice whose version has to be compared with these: another client
	// has written a slice of another version.
	written  map[string]string
	suspects sets.Set[string]
}

// basis holds the inputs that the endpoints of all pods depend on.
type basis struct {
	uid     types.UID
	version string
	nodes   int
}

// group identifies the slices among which an endpoint can move.
type group struct {
	family discoveryv1.AddressType
	ports  endpointsliceutil.PortMapKey
}

// filling is the number of endpoints of a slice.
type filling struct {
	endpoints int
	name      string
}

func fullerFirst(a, b filling) bool {
	return cmp.Or(cmp.Compare(b.endpoints, a.endpoints), cmp.Compare(a.name, b.name)) < 0
}

// NewRecord returns a record of a service that has not been reconciled. most is the number of
// endpoints that a slice can have.
func NewRecord(most int) *Record {
	return &Record{
		most: most, all: true, changed: sets.New[string](), slices: map[string]*discoveryv1.EndpointSlice{}, groups: map[string]group{},
		listing: map[string][]string{}, filled: map[group]*btree.BTreeG[filling]{}, endpoints: map[group]int{}, written: map[string]string{}, suspects: sets.New[string](),
	}
}

// Pods returns the number of the pods that the slices list.
func (r *Record) Pods() int { return len(r.listing) }

// Blank reports whether the record has nothing that a new one has not.
func (r *Record) Blank() bool { return r.all && len(r.slices) == 0 }

// Touch marks a pod as changed.
func (r *Record) Touch(pod string) {
	if !r.all {
		r.changed.Insert(pod)
	}
}

// Forget makes the next reconcile read everything.
func (r *Record) Forget() {
	r.all = true
	clear(r.changed)
}

// Set adds a slice, or replaces its earlier state.
func (r *Record) Set(slice *discoveryv1.EndpointSlice) {
	r.drop(slice.Name)
	r.slices[slice.Name] = slice
	for _, pod := range podsOf(slice) {
		if names := r.listing[pod]; !slices.Contains(names, slice.Name) {
			r.listing[pod] = append(names, slice.Name)
		}
	}
	g := groupOf(slice)
	r.groups[slice.Name] = g
	tree, ok := r.filled[g]
	if !ok {
		tree = btree.NewG(32, fullerFirst)
		r.filled[g] = tree
	}
	tree.ReplaceOrInsert(filling{len(slice.Endpoints), slice.Name})
	r.endpoints[g] += len(slice.Endpoints)
	r.suspects.Insert(slice.Name)
}

// Unset removes a slice.
func (r *Record) Unset(name string) {
	r.drop(name)
	r.suspects.Insert(name)
}

func (r *Record) drop(name string) {
	slice, known := r.slices[name]
	if !known {
		return
	}
	delete(r.slices, name)
	for _, pod := range podsOf(slice) {
		names := slices.DeleteFunc(r.listing[pod], func(n string) bool { return n == name })
		if len(names) == 0 {
			delete(r.listing, pod)
		} else {
			r.listing[pod] = names
		}
	}
	g := r.groups[name]
	delete(r.groups, name)
	tree := r.filled[g]
	tree.Delete(filling{len(slice.Endpoints), name})
	r.endpoints[g] -= len(slice.Endpoints)
	if tree.Len() == 0 {
		delete(r.filled, g)
		delete(r.endpoints, g)
	}
}

// Written records the version of a slice that a reconcile has written.
func (r *Record) Written(slice *discoveryv1.EndpointSlice) {
	r.written[slice.Name] = slice.ResourceVersion
	r.suspects.Insert(slice.Name)
}

// Removed records that a reconcile has deleted a slice.
func (r *Record) Removed(name string) {
	delete(r.written, name)
	r.suspects.Insert(name)
}

// changedByOthers compares the suspects with the versions that the reconciles have written.
func (r *Record) changedByOthers() bool {
	for name := range r.suspects {
		have := ""
		if slice := r.slices[name]; slice != nil {
			have = slice.ResourceVersion
		}
		if have != r.written[name] {
			return true
		}
	}
	return false
}

// podsOf returns the names of the pods that a slice lists.
func podsOf(slice *discoveryv1.EndpointSlice) []string {
	names := make([]string, 0, len(slice.Endpoints))
	for i := range slice.Endpoints {
		if ref := slice.Endpoints[i].TargetRef; ref != nil && ref.Kind == "Pod" {
			names = append(names, ref.Name)
		}
	}
	return names
}

func groupOf(slice *discoveryv1.EndpointSlice) group {
	// NewPortMapKey sorts its argument.
	return group{slice.AddressType, endpointsliceutil.NewPortMapKey(slices.Clone(slice.Ports))}
}

// allSlices returns the slices, sorted by name.
func (r *Record) allSlices() []*discoveryv1.EndpointSlice {
	all := make([]*discoveryv1.EndpointSlice, 0, len(r.slices))
	for _, name := range slices.Sorted(maps.Keys(r.slices)) {
		all = append(all, r.slices[name])
	}
	return all
}

// dependsOnAll reports whether each endpoint of the service depends on all others: topology
// hints share the endpoints among the zones.
func dependsOnAll(service *corev1.Service) bool {
	return service.Annotations[corev1.AnnotationTopologyMode] != "" || service.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints] != ""
}
