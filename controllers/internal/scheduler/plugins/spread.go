package plugins

import (
	"math"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// hardSpread is a DoNotSchedule constraint with its counts.
type hardSpread struct {
	*framework.SpreadConstraint
	domains *framework.Domains
	pods    []int32 // by domain
	// known are the domains with an eligible node. fewest is the lowest count among them,
	// fewestAt the domain that has it, fewest2 the lowest count of the other domains.
	known           []bool
	fewest, fewest2 int32
	fewestAt        int32
	tooFew          bool // fewer domains than MinDomains
}

// spreadConstraints returns the pod's constraints, or the profile's default ones. Of its own and of
// configured ones, a node must have all topology keys to be scored.
func (in *Input) spreadConstraints() (all []framework.SpreadConstraint, requireKeys bool) {
	switch {
	case len(in.Pod.SpreadConstraints) > 0:
		return in.Pod.SpreadConstraints, true
	case in.Siblings == nil:
		return nil, true
	case in.profile.defaultSpread == nil:
		return framework.DefaultSpread(in.Siblings), false
	}
	if in.defaults == nil {
		in.defaults = framework.SpreadOf(in.profile.defaultSpread, in.Siblings, in.Pod)
	}
	return in.defaults, true
}

// hardSpreads returns the pod's DoNotSchedule constraints with their counts. Only nodes that
// have the topology keys of all of them are counted.
func (in *Input) hardSpreads() []hardSpread {
	var all []hardSpread
	if len(in.Pod.SpreadConstraints) == 0 && !in.profile.hardDefaults {
		return nil
	}
	constraints, _ := in.spreadConstraints()
	for i := range constraints {
		if c := &constraints[i]; c.Hard {
			d := in.Snapshot.DomainsOf(c.TopologyKey)
			all = append(all, hardSpread{SpreadConstraint: c, domains: d, pods: make([]int32, d.Len()), known: make([]bool, d.Len())})
		}
	}
	for i := range all {
		h := &all[i]
		counts := in.Snapshot.CountsOf(h.Set)
		for index, n := range in.Snapshot.Nodes() {
			if !haveKeys(all, index) || !h.Counts(in.Pod, n) {
				continue
			}
			domain := h.domains.Of(index)
			h.known[domain] = true
			h.pods[domain] += counts[in.Snapshot.Slot(index)]
		}
		h.findFewest()
	}
	return all
}

func haveKeys(all []hardSpread, index int) bool {
	for i := range all {
		if all[i].domains.Of(index) == framework.NoDomain {
			return false
		}
	}
	return true
}

func (h *hardSpread) findFewest() {
	var known int32
	h.fewest, h.fewest2, h.fewestAt = math.MaxInt32, math.MaxInt32, framework.NoDomain
	for domain, pods := range h.pods {
		switch {
		case !h.known[domain]:
			continue
		case pods < h.fewest:
			h.fewest, h.fewest2, h.fewestAt = pods, h.fewest, int32(domain)
		case pods < h.fewest2:
			h.fewest2 = pods
		}
		known++
	}
	h.tooFew = known < h.MinDomains
}

// filter returns the rejection of the node at the index; nil if its domain, with this pod and
// more others, stays within the maximum skew.
func (h *hardSpread) filter(index int, more int32) *rejection {
	domain := h.domains.Of(index)
	if domain == framework.NoDomain {
		return fixed.spreadLabel
	}
	pods := h.pods[domain] + more
	fewest := h.fewest
	if domain == h.fewestAt {
		fewest = h.fewest2
	}
	if h.known[domain] {
		fewest = min(fewest, pods)
	}
	if h.tooFew {
		fewest = 0
	}
	if h.CountsSelf {
		pods++
	}
	if pods-fewest > h.MaxSkew {
		return fixed.spread
	}
	return nil
}
