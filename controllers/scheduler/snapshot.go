package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is the nodes at one moment, in the order in which they are looked at.
// A decision reads it; between decisions its owner may let the cache replace
// what changed. What it works out when first asked makes it one goroutine's.
type Snapshot struct {
	nodes  []*NodeInfo
	byName map[string]int

	tally *tally
	// slots are the nodes' in the tally, by place.
	slots []int
	// domains are those of the topology keys that were asked for.
	domains map[string]*domains
}

// NewSnapshot returns a snapshot of the nodes: zone by zone in turn, so that the
// first ones of many are spread over the zones, in the given order within each.
func NewSnapshot(nodes []*NodeInfo) *Snapshot { return newSnapshot(nodes, newTally()) }

func newSnapshot(nodes []*NodeInfo, t *tally) *Snapshot {
	s := &Snapshot{nodes: interleaveZones(nodes), byName: make(map[string]int, len(nodes)), tally: t, domains: map[string]*domains{}}
	t.follow(s.nodes)
	s.slots = make([]int, len(s.nodes))
	for i, n := range s.nodes {
		s.byName[n.Name()] = i
		s.slots[i] = t.slots[n.Name()]
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

// set replaces a node that the snapshot has.
func (s *Snapshot) set(n *NodeInfo) {
	place := s.byName[n.Name()]
	if old := s.nodes[place].Node; old != n.Node && !maps.Equal(old.Labels, n.Node.Labels) {
		clear(s.domains)
	}
	s.nodes[place] = n
}

// countsOf returns the number of the set's pods on each node, by slot.
func (s *Snapshot) countsOf(set *PodSet) []int32 { return s.tally.of(set, s.nodes) }

// domains are the nodes that have the same value of a label, numbered.
type domains struct {
	// at is the number of the node's domain, by place; none for nodes without the
	// label.
	at []int32
	n  int
}

// none is the domain of nodes that lack the label.
const none = -1

func (s *Snapshot) domainsOf(topologyKey string) *domains {
	d := s.domains[topologyKey]
	if d != nil {
		return d
	}
	d = &domains{at: make([]int32, len(s.nodes))}
	numbers := map[string]int32{}
	for place, n := range s.nodes {
		value, ok := n.Node.Labels[topologyKey]
		if !ok {
			d.at[place] = none
			continue
		}
		number, ok := numbers[value]
		if !ok {
			number = int32(len(numbers))
			numbers[value] = number
		}
		d.at[place] = number
	}
	d.n = len(numbers)
	s.domains[topologyKey] = d
	return d
}

// sum adds up counts by slot to counts by domain.
func (d *domains) sum(s *Snapshot, counts []int32) []int32 {
	sums := make([]int32, d.n)
	for place, domain := range d.at {
		if domain != none {
			sums[domain] += counts[s.slots[place]]
		}
	}
	return sums
}

func interleaveZones(nodes []*NodeInfo) []*NodeInfo {
	var zones []string
	byZone := map[string][]*NodeInfo{}
	for _, n := range nodes {
		zone := zoneOf(n.Node)
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

func zoneOf(node *corev1.Node) string {
	region, zone := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	return region + "\x00" + zone
}
