package framework

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// minSets is the number of sets that are counted before unused ones are dropped.
const minSets = 256

// tally counts pods by node: the pods of the sets that recent decisions used, and the pods that
// have affinity terms. It follows each pod that is added or removed, so that decisions do not
// iterate over pods. Sets that no decision uses cost nothing.
type tally struct {
	slots map[string]int // of the counts, by node name
	free  []int

	sets  map[string]*counted
	index map[bucket][]*counted
	limit int // of sets, before unused ones are dropped
	held  map[string]*HeldTerm
	// claims are the numbers of pods that use a claim, by slot.
	claims map[types.NamespacedName]map[int]int32
}

// counted is a set with the number of its pods by slot.
type counted struct {
	set    *PodSet
	counts []int32
	used   bool
}

// HeldTerm is an affinity term with the number of pods that have an equal one, by slot.
type HeldTerm struct {
	Term   *AffinityTerm
	Counts []int32
	total  int
}

// PodChange is a pod that was added to a node (+1) or removed from it (-1).
type PodChange struct {
	Node string
	Pod  *PodInfo
	Sign int32
}

func newTally() *tally {
	return &tally{slots: map[string]int{}, sets: map[string]*counted{}, index: map[bucket][]*counted{}, held: map[string]*HeldTerm{}, claims: map[types.NamespacedName]map[int]int32{}, limit: minSets}
}

// follow sets the nodes whose pods are counted: it counts the pods of new nodes, and drops
// the counts of deleted ones.
func (t *tally) follow(nodes []*NodeInfo) {
	gone := maps.Clone(t.slots)
	var added []*NodeInfo
	for _, n := range nodes {
		if _, ok := t.slots[n.Name()]; ok {
			delete(gone, n.Name())
		} else {
			added = append(added, n)
		}
	}
	for name, slot := range gone {
		t.clear(slot)
		delete(t.slots, name)
		t.free = append(t.free, slot)
	}
	slices.Sort(t.free)
	for _, n := range added {
		t.slots[n.Name()] = t.slot()
		for _, p := range n.Pods {
			t.change(PodChange{n.Name(), p, 1})
		}
	}
}

func (t *tally) slot() int {
	if last := len(t.free) - 1; last >= 0 {
		slot := t.free[last]
		t.free = t.free[:last]
		return slot
	}
	for _, c := range t.sets {
		c.counts = append(c.counts, 0)
	}
	for _, h := range t.held {
		h.Counts = append(h.Counts, 0)
	}
	return len(t.slots)
}

func (t *tally) clear(slot int) {
	for _, c := range t.sets {
		c.counts[slot] = 0
	}
	for key, h := range t.held {
		h.total -= int(h.Counts[slot])
		h.Counts[slot] = 0
		if h.total == 0 {
			delete(t.held, key)
		}
	}
	for claim, users := range t.claims {
		delete(users, slot)
		if len(users) == 0 {
			delete(t.claims, claim)
		}
	}
}

// width is the number of slots, used or free.
func (t *tally) width() int { return len(t.slots) + len(t.free) }

// change counts a pod that was added or removed. It ignores nodes that it does not follow.
func (t *tally) change(c PodChange) {
	slot, ok := t.slots[c.Node]
	if !ok {
		return
	}
	if len(t.sets) > 0 {
		t.changeSets(c, slot)
	}
	for i := range c.Pod.AffinityTerms {
		t.hold(&c.Pod.AffinityTerms[i], slot, c.Sign)
	}
	for _, claim := range c.Pod.Claims {
		t.use(types.NamespacedName{Namespace: c.Pod.Pod.Namespace, Name: claim.Name}, slot, c.Sign)
	}
}

func (t *tally) use(claim types.NamespacedName, slot int, sign int32) {
	users := t.claims[claim]
	if users == nil {
		users = map[int]int32{}
		t.claims[claim] = users
	}
	users[slot] += sign
	if users[slot] == 0 {
		delete(users, slot)
	}
	if len(users) == 0 {
		delete(t.claims, claim)
	}
}

func (t *tally) changeSets(c PodChange, slot int) {
	count := func(b bucket) {
		for _, s := range t.index[b] {
			if s.set.Has(c.Pod) {
				s.counts[slot] += c.Sign
			}
		}
	}
	count(bucket{})
	count(bucket{namespace: c.Pod.Pod.Namespace})
	for label, value := range c.Pod.Pod.Labels {
		count(bucket{"", label, value})
		count(bucket{c.Pod.Pod.Namespace, label, value})
	}
}

func (t *tally) hold(term *AffinityTerm, slot int, sign int32) {
	h := t.held[term.key]
	if h == nil {
		h = &HeldTerm{Term: term, Counts: make([]int32, t.width())}
		t.held[term.key] = h
	}
	h.Counts[slot] += sign
	h.total += int(sign)
	if h.total == 0 {
		delete(t.held, term.key)
	}
}

// of returns the counts of a set by slot, valid until the next change. The first call for a
// set iterates over all pods of the nodes.
func (t *tally) of(set *PodSet, nodes []*NodeInfo) []int32 {
	if c := t.sets[set.key]; c != nil {
		c.used = true
		return c.counts
	}
	if len(t.sets) >= t.limit {
		t.forgetUnused()
	}
	c := &counted{set: set, counts: make([]int32, t.width()), used: true}
	for _, n := range nodes {
		slot := t.slots[n.Name()]
		for _, p := range n.Pods {
			if set.Has(p) {
				c.counts[slot]++
			}
		}
	}
	t.sets[set.key] = c
	b := set.bucket()
	t.index[b] = append(t.index[b], c)
	return c.counts
}

// forgetUnused drops the sets that no decision has used since the last call. The new limit
// keeps the cost of the calls proportional to the cost of adding sets in between.
func (t *tally) forgetUnused() {
	clear(t.index)
	for key, c := range t.sets {
		if !c.used {
			delete(t.sets, key)
			continue
		}
		c.used = false
		b := c.set.bucket()
		t.index[b] = append(t.index[b], c)
	}
	t.limit = max(minSets, 2*len(t.sets))
}
