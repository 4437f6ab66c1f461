package difference

import (
	"slices"

	"github.com/google/btree"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Portion holds the pods and slices that one reconcile reads.
type Portion struct {
	// All means all pods of the service; Pods are empty.
	All bool
	// Changed are the names of the pods that have changed, and Pods these and the others that
	// Slices list. Some may not exist, or may not be selected any more.
	Changed, Pods []string
	// Slices are the slices that list a changed pod or may have to be filled, sorted by name.
	Slices []*discoveryv1.EndpointSlice
}

// Take returns the portion that a reconcile of the service reads, and starts the next difference.
// nodes is a number that changes with the properties of nodes that endpoints depend on. A reconcile
// that fails gives the portion back.
func (r *Record) Take(service *corev1.Service, nodes int) Portion {
	now := basis{service.UID, service.ResourceVersion, nodes}
	var p Portion
	if r.all || r.last != now || dependsOnAll(service) || r.changedByOthers() {
		p = Portion{All: true, Slices: r.allSlices()}
		r.known(p.Slices)
	} else {
		p = r.portion()
	}
	r.all, r.last = false, now
	clear(r.changed)
	clear(r.suspects)
	return p
}

// Return marks the portion of a failed reconcile as changed again.
func (r *Record) Return(p Portion) {
	if p.All {
		r.Forget()
		return
	}
	for _, pod := range p.Changed {
		r.Touch(pod)
	}
}

// known makes the versions of all slices the known ones.
func (r *Record) known(all []*discoveryv1.EndpointSlice) {
	clear(r.written)
	for _, slice := range all {
		r.written[slice.Name] = slice.ResourceVersion
	}
}

// portion returns the slices that upstream's reconciler might change: the slices that list a
// changed pod, the slices that it would fill with endpoints that are in none, and the empty slices
// that it would delete. Each slice brings the pods that it lists.
func (r *Record) portion() Portion {
	p := Portion{Changed: sets.List(r.changed)}
	if len(p.Changed) == 0 {
		return p
	}
	chosen := sets.New[string]()
	for _, pod := range p.Changed {
		chosen.Insert(r.listing[pod]...)
	}
	for g, tree := range r.filled {
		r.addRoom(chosen, tree, r.homeless(g))
	}
	r.addAnchors(chosen)
	pods := r.changed.Clone()
	for _, name := range sets.List(chosen) {
		p.Slices = append(p.Slices, r.slices[name])
		pods.Insert(podsOf(r.slices[name])...)
	}
	p.Pods = sets.List(pods)
	return p
}

// homeless returns the greatest number of endpoints of changed pods that are in no slice of
// the group, or whose slice loses all of its endpoints.
func (r *Record) homeless(g group) int {
	n := 0
	for pod := range r.changed {
		stays := slices.ContainsFunc(r.listing[pod], func(name string) bool {
			return r.groups[name] == g && r.keeps(name)
		})
		if !stays {
			n++
		}
	}
	return n
}

// keeps reports whether a slice lists a pod that has not changed.
func (r *Record) keeps(name string) bool {
	return slices.ContainsFunc(podsOf(r.slices[name]), func(pod string) bool { return !r.changed.Has(pod) })
}

// addRoom adds, for every number of endpoints up to n, the slice that is the fullest with
// these: upstream's reconciler chooses it. The chosen slices do not count, because they may
// be changed for another reason, and full then.
func (r *Record) addRoom(chosen sets.Set[string], tree *btree.BTreeG[filling], n int) {
	for fits := r.most - 1; fits >= 0 && fits >= r.most-n; {
		found, ok := filling{}, false
		tree.AscendGreaterOrEqual(filling{endpoints: fits}, func(f filling) bool {
			found, ok = f, !chosen.Has(f.name)
			return !ok
		})
		if !ok {
			return
		}
		chosen.Insert(found.name)
		fits = found.endpoints - 1
	}
}

// addAnchors adds slices beside the chosen ones, so that upstream's reconciler does not take the
// chosen ones for all of the service's endpoints: it deletes the slices of ports that no pod
// serves, and creates an empty slice for an address family without endpoints.
//
// One slice that keeps an endpoint is enough for its ports and its family. A group whose
// chosen slices may all become empty, and which has no other, loses its empty slices too.
func (r *Record) addAnchors(chosen sets.Set[string]) {
	concerned, kept := sets.New[group](), sets.New[group]()
	for name := range chosen {
		concerned.Insert(r.groups[name])
		if r.keeps(name) {
			kept.Insert(r.groups[name])
		}
	}
	families := sets.New[discoveryv1.AddressType]()
	for g := range kept {
		families.Insert(g.family)
	}
	others := map[discoveryv1.AddressType]string{}
	for g, tree := range r.filled {
		if kept.Has(g) {
			continue
		}
		other := firstOutside(tree, chosen)
		switch {
		case other == "":
			addEmpty(chosen, tree)
		case concerned.Has(g):
			chosen.Insert(other)
			families.Insert(g.family)
		case others[g.family] == "" || other < others[g.family]:
			others[g.family] = other
		}
	}
	for family, other := range others {
		if !families.Has(family) {
			chosen.Insert(other)
		}
	}
}

// firstOutside returns the fullest slice with endpoints that has not been chosen, or "".
func firstOutside(tree *btree.BTreeG[filling], chosen sets.Set[string]) (name string) {
	tree.Ascend(func(f filling) bool {
		if f.endpoints > 0 && chosen.Has(f.name) {
			return true
		}
		if f.endpoints > 0 {
			name = f.name
		}
		return false
	})
	return name
}

func addEmpty(chosen sets.Set[string], tree *btree.BTreeG[filling]) {
	tree.Descend(func(f filling) bool {
		if f.endpoints == 0 {
			chosen.Insert(f.name)
		}
		return f.endpoints == 0
	})
}
