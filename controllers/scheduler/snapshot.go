package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is the nodes at one moment, in the order in which they are looked at.
// A decision reads it; between decisions its owner may let the cache replace
// what changed.
type Snapshot struct {
	nodes  []*NodeInfo
	byName map[string]int
}

// NewSnapshot returns a snapshot of the nodes: zone by zone in turn, so that the
// first ones of many are spread over the zones, in the given order within each.
func NewSnapshot(nodes []*NodeInfo) *Snapshot {
	s := &Snapshot{nodes: interleaveZones(nodes), byName: make(map[string]int, len(nodes))}
	for i, n := range s.nodes {
		s.byName[n.Name()] = i
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
func (s *Snapshot) set(n *NodeInfo) { s.nodes[s.byName[n.Name()]] = n }

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
