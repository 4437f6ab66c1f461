package framework

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is the state of all nodes at one moment, in the order in which they are tried. A
// decision changes it only by a WhatIf, which it undoes; between decisions the cache brings it up to date. It is for a
// single goroutine, because it computes counts and domains on first use.
type Snapshot struct {
	nodes  []*NodeInfo
	byName map[string]int

	tally *tally
	// slots are the tally's slots of the nodes, by index.
	slots []int
	// images are the numbers of nodes that have an image, by name.
	images map[string]int
	// offered are the numbers of nodes that have some of an extended resource or of huge pages, by name.
	offered map[corev1.ResourceName]int
	// softTainted is the number of nodes with PreferNoSchedule taints.
	softTainted int
	// domains has the domains of the labels that were used last since node labels changed.
	domains map[string]*Domains
}

// NewSnapshot returns a snapshot of the nodes. Its order alternates between the zones, so
// that the first of many nodes are spread over them; within a zone it is the given order.
func NewSnapshot(nodes []*NodeInfo) *Snapshot { return newSnapshot(nodes, newTally()) }

// SnapshotOf returns a snapshot of the nodes, with the pods on the nodes that they are bound
// to. Pods that are bound to none of them are left out.
func SnapshotOf(nodes []*corev1.Node, pods []*corev1.Pod) *Snapshot {
	infos, index := make([]*NodeInfo, len(nodes)), make(map[string]int, len(nodes))
	for i, n := range nodes {
		infos[i], index[n.Name] = NewNodeInfo(n), i
	}
	for _, p := range pods {
		if i, ok := index[p.Spec.NodeName]; ok {
			infos[i] = infos[i].With(NewPodInfo(p))
		}
	}
	return NewSnapshot(infos)
}

func newSnapshot(nodes []*NodeInfo, t *tally) *Snapshot {
	s := &Snapshot{
		nodes: interleaveZones(nodes), byName: make(map[string]int, len(nodes)), tally: t,
		images: map[string]int{}, offered: map[corev1.ResourceName]int{}, domains: map[string]*Domains{},
	}
	t.follow(s.nodes)
	s.slots = make([]int, len(s.nodes))
	for i, n := range s.nodes {
		s.byName[n.Name()] = i
		s.slots[i] = t.slots[n.Name()]
		s.countNode(n, 1)
	}
	return s
}

// Len returns the number of nodes.
func (s *Snapshot) Len() int { return len(s.nodes) }

// Get returns the node of that name; nil if there is none.
func (s *Snapshot) Get(name string) *NodeInfo {
	if i, ok := s.byName[name]; ok {
		return s.nodes[i]
	}
	return nil
}

// Nodes returns the nodes in the order in which they are tried. An index into it
// identifies a node for the other methods. The slice is read-only.
func (s *Snapshot) Nodes() []*NodeInfo { return s.nodes }

// Index returns the index of the node of that name.
func (s *Snapshot) Index(name string) (index int, ok bool) {
	index, ok = s.byName[name]
	return index, ok
}

// Slot returns where counts keep the number of the node at the index.
func (s *Snapshot) Slot(index int) int { return s.slots[index] }

// Count brings the counts up to date with pods that were added to nodes or removed.
func (s *Snapshot) Count(changes []PodChange) {
	for _, c := range changes {
		s.tally.change(c)
	}
}

// UsersOf returns how often pods on nodes use a claim.
func (s *Snapshot) UsersOf(claim types.NamespacedName) (users int32) {
	for _, n := range s.tally.claims[claim] {
		users += n
	}
	return users
}

// Held returns the affinity terms that pods on nodes have, by a key of the term. The map is
// read-only.
func (s *Snapshot) Held() map[string]*HeldTerm { return s.tally.held }

// WithNodes returns a snapshot of other nodes that carries the counts over. The receiver
// must not be used afterwards.
func (s *Snapshot) WithNodes(nodes []*NodeInfo) *Snapshot { return newSnapshot(nodes, s.tally) }

// Set replaces a node that the snapshot has.
func (s *Snapshot) Set(n *NodeInfo) {
	index := s.byName[n.Name()]
	if old := s.nodes[index].Node; old != n.Node && !maps.Equal(old.Labels, n.Node.Labels) {
		clear(s.domains)
	}
	if old := s.nodes[index]; old.Node != n.Node {
		s.countNode(old, -1)
		s.countNode(n, 1)
	}
	s.nodes[index] = n
}

// countNode updates the snapshot's totals over all nodes.
func (s *Snapshot) countNode(n *NodeInfo, sign int) {
	if len(n.SoftTaints) > 0 {
		s.softTainted += sign
	}
	for name, amount := range n.Allocatable.Scalar {
		if amount > 0 {
			s.offered[name] += sign
		}
	}
	for name := range n.Images {
		s.images[name] += sign
		if s.images[name] == 0 {
			delete(s.images, name)
		}
	}
}

// HasSoftTaints reports whether any node has PreferNoSchedule taints.
func (s *Snapshot) HasSoftTaints() bool { return s.softTainted > 0 }

// Offers reports whether any node has some of an extended resource or of huge pages.
func (s *Snapshot) Offers(name corev1.ResourceName) bool { return s.offered[name] > 0 }

// HasImages reports whether any node has images.
func (s *Snapshot) HasImages() bool { return len(s.images) > 0 }

// NodesWithImage returns the number of nodes that have an image.
func (s *Snapshot) NodesWithImage(name string) int { return s.images[name] }

// CountsOf returns the number of the set's pods on each node, by slot.
func (s *Snapshot) CountsOf(set *PodSet) []int32 { return s.tally.of(set, s.nodes) }

// Domains numbers the topology domains of a label: nodes with the same value are in the same
// domain.
type Domains struct {
	// at is the number of the node's domain, by index; NoDomain for nodes without the label.
	at []int32
	// numbers maps the value of the label to the number of the domain.
	numbers map[string]int32
}

// maxDomains caps the labels whose domains are kept: pods name labels as they like.
const maxDomains = 64

// NoDomain is returned for nodes that lack the label.
const NoDomain = -1

// Len returns the number of domains.
func (d *Domains) Len() int { return len(d.numbers) }

// Of returns the number of the domain of the node at the index, or NoDomain.
func (d *Domains) Of(index int) int32 { return d.at[index] }

// DomainsOf returns the domains of a topology key.
func (s *Snapshot) DomainsOf(topologyKey string) *Domains {
	d := s.domains[topologyKey]
	if d != nil {
		return d
	}
	if len(s.domains) == maxDomains {
		clear(s.domains)
	}
	d = &Domains{at: make([]int32, len(s.nodes)), numbers: map[string]int32{}}
	for index, n := range s.nodes {
		value, ok := n.Node.Labels[topologyKey]
		if !ok {
			d.at[index] = NoDomain
			continue
		}
		number, ok := d.numbers[value]
		if !ok {
			number = int32(len(d.numbers))
			d.numbers[value] = number
		}
		d.at[index] = number
	}
	s.domains[topologyKey] = d
	return d
}

// Sum adds up counts by slot to counts by domain.
func (d *Domains) Sum(s *Snapshot, counts []int32) []int32 {
	sums := make([]int32, d.Len())
	for index, domain := range d.at {
		if domain != NoDomain {
			sums[domain] += counts[s.slots[index]]
		}
	}
	return sums
}

func interleaveZones(nodes []*NodeInfo) []*NodeInfo {
	var zones []string
	byZone := map[string][]*NodeInfo{}
	for _, n := range nodes {
		zone := ZoneOf(n.Node)
		if byZone[zone] == nil {
			zones = append(zones, zone)
		}
		byZone[zone] = append(byZone[zone], n)
	}
	if len(zones) <= 1 {
		return slices.Clone(nodes)
	}
	mixed := make([]*NodeInfo, 0, len(nodes))
	for round := 0; len(mixed) < len(nodes); round++ {
		for _, zone := range zones {
			if round < len(byZone[zone]) {
				mixed = append(mixed, byZone[zone][round])
			}
		}
	}
	return mixed
}

// ZoneOf identifies the region and zone of a node.
func ZoneOf(node *corev1.Node) string {
	region, zone := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	return region + "\x00" + zone
}
