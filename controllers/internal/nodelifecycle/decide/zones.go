package decide

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// unsoundLeast is the least number of lost nodes that makes a zone unsound.
const (
	unsoundLeast  = 3
	labelExcluded = "node.kubernetes.io/exclude-disruption"
	never         = time.Duration(-1)
	zoneSeparator = ":\x00:"
	noZone        = ""
)

// ZoneOptions configure the rate at which nodes of a zone are tainted NoExecute. 0 means
// upstream's default.
type ZoneOptions struct {
	// EvictionRate is the number of nodes tainted per second in a sound zone: 0.1.
	EvictionRate float32
	// SecondaryEvictionRate is the rate in a large zone that is unsound: 0.01.
	SecondaryEvictionRate float32
	// LargeThreshold is the number of nodes above which a zone is large: 50. In a smaller
	// zone that is unsound, nothing is evicted.
	LargeThreshold int
	// UnhealthyThreshold is the fraction of lost nodes that makes a zone unsound: 0.55.
	UnhealthyThreshold float32
}

func (o *ZoneOptions) complete() {
	o.EvictionRate = cmp.Or(o.EvictionRate, 0.1)
	o.SecondaryEvictionRate = cmp.Or(o.SecondaryEvictionRate, 0.01)
	o.LargeThreshold = cmp.Or(o.LargeThreshold, 50)
	o.UnhealthyThreshold = cmp.Or(o.UnhealthyThreshold, 0.55)
}

// turnPeriod returns the interval between two turns at a rate; never if the rate is 0.
func turnPeriod(rate float32) time.Duration {
	if rate <= 0 {
		return never
	}
	return time.Duration(math.Round(float64(time.Second)/float64(rate)/1e6)) * time.Millisecond
}

// mode is the health of a zone.
type mode int

const (
	sound mode = iota
	unsound
	lost
)

// Zones tracks which nodes of each zone are ready, and which node's turn it is to be
// tainted NoExecute. It is not safe for concurrent use.
type Zones struct {
	opts   ZoneOptions
	nodes  map[string]*member
	byName map[string]*zone
}

type member struct {
	zone           string
	counted, ready bool
	granted        bool
}

type zone struct {
	members         map[string]bool
	ready, notReady int
	next            time.Time
}

// NewZones returns zones without nodes. 0 in the options means upstream's default.
func NewZones(opts ZoneOptions) *Zones {
	opts.complete()
	return &Zones{opts: opts, nodes: map[string]*member{}, byName: map[string]*zone{}}
}

// zoneOf returns the failure domain in the node's labels.
func zoneOf(n *corev1.Node) string {
	region, name := n.Labels[corev1.LabelTopologyRegion], n.Labels[corev1.LabelTopologyZone]
	if region == "" && name == "" {
		return noZone
	}
	return region + zoneSeparator + name
}

func (z *zone) mode(unsoundFraction float32) mode {
	all := z.ready + z.notReady
	switch {
	case z.ready == 0 && z.notReady > 0:
		return lost
	case z.notReady >= unsoundLeast && float32(z.notReady)/float32(all) >= unsoundFraction:
		return unsound
	}
	return sound
}

// Observe records the state of a node, and returns the nodes to reconcile because the mode
// of their zone or of the cluster has changed.
func (z *Zones) Observe(n *corev1.Node) []string {
	name, in := n.Name, zoneOf(n)
	m := z.nodes[name]
	from := in
	if m != nil {
		from = m.zone
	}
	before := z.modes(from, in)
	if m == nil {
		m = &member{}
		z.nodes[name] = m
	} else {
		z.count(name, m, -1)
	}
	m.zone, m.ready = in, isReady(n)
	_, excluded := n.Labels[labelExcluded]
	m.counted = !excluded
	if m.ready {
		m.granted = false
	}
	z.count(name, m, +1)
	return z.changed(before)
}

// Remove records that a node is gone, and returns nodes as observe does.
func (z *Zones) Remove(name string) []string {
	m := z.nodes[name]
	if m == nil {
		return nil
	}
	before := z.modes(m.zone)
	z.count(name, m, -1)
	delete(z.nodes, name)
	return z.changed(before)
}

// modes are the modes of some zones, and whether the whole cluster is lost.
type modes struct {
	lost bool
	of   map[string]mode
}

func (z *Zones) modes(names ...string) modes {
	m := modes{lost: z.Lost(), of: map[string]mode{}}
	for _, name := range names {
		m.of[name] = z.modeOf(name)
	}
	return m
}

func (z *Zones) modeOf(name string) mode {
	if in := z.byName[name]; in != nil {
		return in.mode(z.opts.UnhealthyThreshold)
	}
	return sound
}

func (z *Zones) count(name string, m *member, by int) {
	in := z.byName[m.zone]
	if in == nil {
		in = &zone{members: map[string]bool{}}
		z.byName[m.zone] = in
	}
	if by > 0 {
		in.members[name] = true
	} else {
		delete(in.members, name)
	}
	switch {
	case !m.counted:
	case m.ready:
		in.ready += by
	default:
		in.notReady += by
	}
	if len(in.members) == 0 {
		delete(z.byName, m.zone)
	}
}

// changed returns the nodes that are affected by mode changes since before.
func (z *Zones) changed(before modes) []string {
	var names []string
	if z.Lost() != before.lost {
		for name := range z.nodes {
			names = append(names, name)
		}
	} else {
		for in, was := range before.of {
			if current := z.byName[in]; current != nil && current.mode(z.opts.UnhealthyThreshold) != was {
				for name := range current.members {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Lost reports whether no zone has a ready node.
func (z *Zones) Lost() bool {
	for _, in := range z.byName {
		if in.mode(z.opts.UnhealthyThreshold) != lost {
			return false
		}
	}
	return len(z.byName) > 0
}

// Turn returns how long the node has to wait until it may be tainted NoExecute. 0 grants
// the turn until the node is ready again; never means that the node has no turn while its
// zone stays in this mode.
func (z *Zones) Turn(node string, now time.Time) time.Duration {
	m := z.nodes[node]
	if m == nil || z.Lost() {
		return never
	}
	if m.granted {
		return 0
	}
	in := z.byName[m.zone]
	period := turnPeriod(z.opts.EvictionRate)
	if in.mode(z.opts.UnhealthyThreshold) == unsound {
		if len(in.members) <= z.opts.LargeThreshold {
			return never
		}
		period = turnPeriod(z.opts.SecondaryEvictionRate)
	}
	if period == never {
		return never
	}
	if wait := in.next.Sub(now); wait > 0 {
		return wait
	}
	in.next = now.Add(period)
	m.granted = true
	return 0
}
