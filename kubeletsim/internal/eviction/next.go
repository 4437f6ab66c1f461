package eviction

import (
	"slices"
	"time"
)

// horizon is how far Next looks ahead.
const horizon = time.Hour

// Plan is when something happens to a node, if its pods stay as they are.
type Plan struct {
	// At is zero if nothing ever happens.
	At time.Time
	// Look means that Step is due then, and Collect that Collect is; without both, the node's
	// memory may be exhausted, or Next is to look further ahead.
	Look, Collect bool
}

// Next returns when a look, a collection of images or the kernel will change something. Looks happen
// at multiples of Interval on the clock, collections at multiples of CollectionInterval, and a look
// after an eviction as soon as the pod has ended. If nothing changes within an hour, and it might
// later, Next plans a look then.
func Next(p *Policy, n *Node, s *State, now time.Time) Plan {
	look, collection := n.nextLook(p, s, now), n.nextCollection(p, now)
	switch {
	case look.At.IsZero() || !collection.At.IsZero() && collection.At.Before(look.At):
		return collection
	case collection.At.Equal(look.At):
		look.Collect = collection.Collect
	}
	return look
}

// nextLook is Next without collections.
func (n *Node) nextLook(p *Policy, s *State, now time.Time) Plan {
	if len(s.victims) > 0 {
		return afterEviction(n, s, now)
	}
	if s.Idle() && !n.reachable(p) {
		return Plan{}
	}
	last, look := now, now.Truncate(Interval)
	for look.Before(now) || !look.After(s.looked) {
		look = look.Add(Interval)
	}
	scarce := n.most(0) > n.limit(p, MemoryAvailable)
	for end := look.Add(horizon); look.Before(end); look = look.Add(Interval) {
		if scarce {
			if at := n.exhaustedAt(p, last, look); !at.IsZero() && at.Before(look) {
				return Plan{At: at}
			}
		}
		if n.changes(p, s, look) {
			break
		}
		last = look
	}
	return Plan{At: look, Look: true}
}

// afterEviction plans the look after an eviction.
func afterEviction(n *Node, s *State, now time.Time) Plan {
	end := s.evictedAt.Add(cleanupTimeout)
	if s.waits(n, now) {
		return Plan{At: end, Look: true}
	}
	at := s.evictedAt.Add(cleanupPoll)
	for at.Before(now) && at.Before(end) {
		at = at.Add(cleanupPoll)
	}
	return Plan{At: latest(at, now), Look: true}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reachable reports whether the pods can ever meet a threshold or exceed their limits.
func (n *Node) reachable(p *Policy) bool {
	for i, signal := range signals() {
		for j := range p.Thresholds {
			if t := &p.Thresholds[j]; t.Signal == signal && n.limit(p, signal)-n.most(i) < t.Below.of(n.capacity(signal)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.Pods, func(p Pod) bool { return p.canExceed() })
}

// changes reports whether a look would change anything.
func (n *Node) changes(p *Policy, s *State, at time.Time) bool {
	met := n.met(p, s, at)
	if len(met) != len(s.first) {
		return true
	}
	acts := -1
	observed := map[string]bool{}
	for _, t := range met {
		first, known := s.first[t.key()]
		over := at.Sub(first) >= t.Grace
		if !known || over && !s.acting[t.key()] {
			return true
		}
		observed[string(t.Signal.condition())] = true
		if over && acts < 0 {
			acts = slices.Index(signals(), t.Signal)
		}
	}
	for condition, last := range s.last {
		if !observed[string(condition)] && at.Sub(last) >= p.Transition {
			return true
		}
	}
	if acts >= 0 && len(n.rank(acts, at)) > 0 || acts == diskSignal && len(n.unused(p, at)) > 0 {
		return true
	}
	return slices.ContainsFunc(n.Pods, func(p Pod) bool { return p.exceeded(at) != "" })
}
