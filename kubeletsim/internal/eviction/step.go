package eviction

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Interval is the time between two looks of a kubelet at its node.
const Interval = 10 * time.Second

// After an eviction, the kubelet looks every cleanupPoll whether the pod has ended, until
// cleanupTimeout.
const (
	cleanupPoll    = time.Second
	cleanupTimeout = 30 * time.Second
)

// hardGrace is the grace period of pods that are evicted at once, and the shortest of all.
const hardGrace = time.Second

// State is a kubelet's state between two looks. The zero value is the state before the first look.
type State struct {
	// first maps the thresholds that are met to the times since which they are. acting has the ones
	// whose grace period is over.
	first  map[thresholdKey]time.Time
	acting map[thresholdKey]bool
	// last is the time at which a threshold of a condition was last met.
	last map[corev1.NodeConditionType]time.Time
	// looked is the time of the last look.
	looked time.Time
	// victims are the pods that were evicted last, at evictedAt, while the kubelet waits for their
	// end.
	victims   []types.UID
	evictedAt time.Time
}

// Resume returns the state of a kubelet that reported these conditions before it restarted, the
// last time as given.
func Resume(reported map[corev1.NodeConditionType]time.Time) State {
	return State{last: maps.Clone(reported)}
}

// Idle reports whether the state has no trace of a shortage.
func (s *State) Idle() bool { return len(s.first) == 0 && len(s.last) == 0 && len(s.victims) == 0 }

// Conditions returns the conditions of the node, sorted.
func (s *State) Conditions() []corev1.NodeConditionType {
	return slices.Sorted(maps.Keys(s.last))
}

// Eviction is a pod that is to be evicted.
type Eviction struct {
	Pod     types.UID
	Message string
	// Grace bounds the pod's grace period.
	Grace time.Duration
	// Disruption means that the pod gets the condition DisruptionTarget.
	Disruption bool
}

// Outcome holds the actions of a kubelet after a look.
type Outcome struct {
	// Reclaim is the resource that the node is short of; empty if it is of none.
	Reclaim   corev1.ResourceName
	Evictions []Eviction
	// Remove are unused images that are removed before a pod is evicted.
	Remove []Image
}

// Step is one look at a node.
func Step(p *Policy, n *Node, s State, now time.Time) (State, Outcome) {
	if s.waits(n, now) {
		return s, Outcome{}
	}
	met := n.met(p, &s, now)
	next := State{first: map[thresholdKey]time.Time{}, acting: map[thresholdKey]bool{}, last: maps.Clone(s.last), looked: now}
	if next.last == nil {
		next.last = map[corev1.NodeConditionType]time.Time{}
	}
	for key := range s.first {
		// Next left no look out at which this would have changed.
		if last := now.Add(-Interval); last.After(next.last[key.signal.condition()]) {
			next.last[key.signal.condition()] = last
		}
	}
	var act *Threshold
	for _, t := range met {
		next.first[t.key()] = s.since(t, now)
		next.last[t.Signal.condition()] = now
		if now.Sub(next.first[t.key()]) >= t.Grace {
			next.acting[t.key()] = true
			if act == nil {
				act = t
			}
		}
	}
	maps.DeleteFunc(next.last, func(_ corev1.NodeConditionType, last time.Time) bool {
		return now.Sub(last) >= p.Transition && !last.Equal(now)
	})
	out := Outcome{Evictions: n.beyondLimits(now)}
	if act != nil && len(out.Evictions) == 0 {
		out = n.reclaim(p, act, now)
	}
	for _, e := range out.Evictions {
		next.victims, next.evictedAt = append(next.victims, e.Pod), now
	}
	return next, out
}

// waits reports whether the kubelet still waits for the end of the pods that it has evicted.
func (s *State) waits(n *Node, now time.Time) bool {
	if len(s.victims) == 0 || !now.Before(s.evictedAt.Add(cleanupTimeout)) {
		return false
	}
	return slices.ContainsFunc(n.Pods, func(p Pod) bool { return slices.Contains(s.victims, p.Object.UID) })
}

// since returns since when a threshold that is met now has been.
func (s *State) since(t *Threshold, now time.Time) time.Time {
	if first, ok := s.first[t.key()]; ok {
		return first
	}
	return now
}

// met returns the thresholds that are met, in the order in which they are acted upon.
func (n *Node) met(p *Policy, s *State, at time.Time) []*Threshold {
	var met []*Threshold
	for i, signal := range signals() {
		for j := range p.Thresholds {
			t := &p.Thresholds[j]
			if t.Signal != signal {
				continue
			}
			capacity := n.capacity(signal)
			below := t.Below.of(capacity)
			if s.acting[t.key()] {
				below += t.MinReclaim.of(capacity)
			}
			if n.limit(p, signal)-n.used(i, at) < below {
				met = append(met, t)
			}
		}
	}
	return met
}

// beyondLimits returns the pods that use more ephemeral storage than their own limits.
func (n *Node) beyondLimits(now time.Time) []Eviction {
	var all []Eviction
	for i := range n.Pods {
		if why := n.Pods[i].exceeded(now); why != "" {
			all = append(all, Eviction{Pod: n.Pods[i].Object.UID, Message: why, Grace: hardGrace})
		}
	}
	return all
}

// reclaim removes the unused images for a threshold of the disk, and evicts the first candidate if
// that is not enough.
func (n *Node) reclaim(p *Policy, t *Threshold, now time.Time) Outcome {
	out := Outcome{Reclaim: t.Signal.resource()}
	n, out.Remove = n.reclaimImages(p, t, now)
	if len(out.Remove) > 0 && len(n.met(p, &State{}, now)) == 0 {
		return out
	}
	ranked := n.rank(slices.Index(signals(), t.Signal), now)
	if len(ranked) == 0 {
		return out
	}
	grace := hardGrace
	if t.Soft {
		grace = max(p.MaxPodGrace, hardGrace)
	}
	out.Evictions = []Eviction{{Pod: ranked[0].Object.UID, Message: n.message(p, t, ranked[0], now), Grace: grace, Disruption: true}}
	return out
}
