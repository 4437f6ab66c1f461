package decide

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	endpointsliceutil "k8s.io/endpointslice/util"
)

// Account has the addresses of a service's pods, grouped by the ports that they serve and
// sorted as the object lists them. It is changed pod by pod, so the cost of a decision depends on
// the number of changes and on how many addresses the object can list, not on the size of the
// service.
type Account struct {
	service *corev1.Service
	groups  map[string]*subset
	pods    map[string]place
}

// subset has the addresses of the pods that serve the same ports.
type subset struct {
	ports           []corev1.EndpointPort
	ready, notReady *btree.BTreeG[member]
}

// member is a pod with an address.
type member struct {
	ip                   string
	uid                  types.UID
	name, node, hostname string
}

func before(a, b member) bool {
	return cmp.Or(cmp.Compare(a.ip, b.ip), cmp.Compare(a.uid, b.uid), cmp.Compare(a.name, b.name)) < 0
}

// place is where an account has a pod.
type place struct {
	group  string
	ready  bool
	member member
}

// NewAccount returns the account of a version of a service with these pods, which it selects.
func NewAccount(service *corev1.Service, pods []*corev1.Pod) *Account {
	a := &Account{service: service, groups: map[string]*subset{}, pods: map[string]place{}}
	for _, pod := range pods {
		a.Set(pod)
	}
	return a
}

// Len returns the number of pods with an address.
func (a *Account) Len() int { return len(a.pods) }

// Set adds a pod that the service selects, or replaces its earlier state.
func (a *Account) Set(pod *corev1.Pod) {
	a.Unset(pod.Name)
	if !endpointsliceutil.ShouldPodBeInEndpoints(pod, a.service.Spec.PublishNotReadyAddresses) {
		return
	}
	m, ok := memberOf(a.service, pod)
	if !ok {
		return
	}
	ports := portsOf(a.service, pod)
	if len(ports) == 0 && !isPortless(a.service) {
		return
	}
	at := place{group: groupKey(ports), ready: a.service.Spec.PublishNotReadyAddresses || endpointsliceutil.IsPodReady(pod), member: m}
	g, known := a.groups[at.group]
	if !known {
		sortByHash(ports)
		g = &subset{ports: ports, ready: btree.NewG(32, before), notReady: btree.NewG(32, before)}
		a.groups[at.group] = g
	}
	g.of(at.ready).ReplaceOrInsert(m)
	a.pods[pod.Name] = at
}

// Unset removes a pod.
func (a *Account) Unset(name string) {
	at, ok := a.pods[name]
	if !ok {
		return
	}
	delete(a.pods, name)
	g := a.groups[at.group]
	g.of(at.ready).Delete(at.member)
	if g.ready.Len()+g.notReady.Len() == 0 {
		delete(a.groups, at.group)
	}
}

func (s *subset) of(ready bool) *btree.BTreeG[member] {
	if ready {
		return s.ready
	}
	return s.notReady
}

// subsets returns the subsets of the object, and whether they lack addresses. Several groups
// are sorted by all of their addresses, as upstream does.
func (a *Account) subsets() (listed []corev1.EndpointSubset, over bool) {
	groups := make([]*subset, 0, len(a.groups))
	for _, key := range slices.Sorted(maps.Keys(a.groups)) {
		groups = append(groups, a.groups[key])
	}
	if len(groups) > 1 {
		a.sortGroups(groups)
	}
	ready, notReady, over := shares(groups)
	listed = make([]corev1.EndpointSubset, 0, len(groups))
	for i, g := range groups {
		listed = append(listed, a.list(g, ready[i], notReady[i]))
	}
	return listed, over
}

func (a *Account) sortGroups(groups []*subset) {
	whole := map[*corev1.EndpointPort]*subset{}
	all := make([]corev1.EndpointSubset, 0, len(groups))
	for _, g := range groups {
		all = append(all, a.list(g, g.ready.Len(), g.notReady.Len()))
		whole[portOf(g.ports)] = g
	}
	sortByHash(all)
	for i := range all {
		groups[i] = whole[portOf(all[i].Ports)]
	}
}

// portOf identifies a group by its first port; only one group has none.
func portOf(ports []corev1.EndpointPort) *corev1.EndpointPort {
	if len(ports) == 0 {
		return nil
	}
	return &ports[0]
}

// list returns a group with its first addresses.
func (a *Account) list(g *subset, ready, notReady int) corev1.EndpointSubset {
	return corev1.EndpointSubset{Ports: g.ports, Addresses: a.first(g.ready, ready), NotReadyAddresses: a.first(g.notReady, notReady)}
}

func (a *Account) first(members *btree.BTreeG[member], n int) []corev1.EndpointAddress {
	if members.Len() == 0 {
		return nil
	}
	addresses := make([]corev1.EndpointAddress, 0, n)
	members.Ascend(func(m member) bool {
		if len(addresses) == n {
			return false
		}
		address := corev1.EndpointAddress{
			IP: m.ip, Hostname: m.hostname,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: a.service.Namespace, Name: m.name, UID: m.uid},
		}
		if m.node != "" {
			address.NodeName = &m.node
		}
		addresses = append(addresses, address)
		return true
	})
	return addresses
}
