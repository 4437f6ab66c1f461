package scheduler

import (
	"maps"
	"slices"
)

// minSets is how many sets of pods are counted before unused ones are forgotten.
const minSets = 256

// tally counts pods by node: those of the sets that decisions asked for lately,
// and those that hold affinity terms. It is told of each pod that comes or goes,
// so that no decision has to look at pods; what nobody asks for costs nothing.
type tally struct {
	slots map[string]int // of the counts, by node name
	free  []int

	sets  map[string]*counted
	index map[bucket][]*counted
	limit int // of sets, before unused ones are forgotten
	held  map[string]*heldTerm
}

// counted is a set with the number of its pods by slot.
type counted struct {
	set    *PodSet
	counts []int32
	used   bool
}

// heldTerm is an affinity term, with the number of pods that hold an equal one by
// slot.
type heldTerm struct {
	term   *affinityTerm
	counts []int32
	total  int
}

// podChange is a pod that came to a node (+1) or went (-1).
type podChange struct {
	node string
	pod  *PodInfo
	sign int32
}

func newTally() *tally {
	return &tally{slots: map[string]int{}, sets: map[string]*counted{}, index: map[bucket][]*counted{}, held: map[string]*heldTerm{}, limit: minSets}
}

// follow takes over which nodes there are: new ones are counted anew, those that
// are gone no longer.
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
			t.change(podChange{n.Name(), p, 1})
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
		h.counts = append(h.counts, 0)
	}
	return len(t.slots)
}

func (t *tally) clear(slot int) {
	for _, c := range t.sets {
		c.counts[slot] = 0
	}
	for key, h := range t.held {
		h.total -= int(h.counts[slot])
		h.counts[slot] = 0
		if h.total == 0 {
			delete(t.held, key)
		}
	}
}

// width is the number of slots, used or free.
func (t *tally) width() int { return len(t.slots) + len(t.free) }

func (t *tally) changeAll(all []podChange) {
	for _, c := range all {
		t.change(c)
	}
}

// change counts a pod that came or went. Nodes that the tally does not follow are
// none of its business.
func (t *tally) change(c podChange) {
	slot, ok := t.slots[c.node]
	if !ok {
		return
	}
	if len(t.sets) > 0 {
		t.changeSets(c, slot)
	}
	for i := range c.pod.terms {
		t.hold(&c.pod.terms[i], slot, c.sign)
	}
}

func (t *tally) changeSets(c podChange, slot int) {
	count := func(b bucket) {
		for _, s := range t.index[b] {
			if s.set.has(c.pod) {
				s.counts[slot] += c.sign
			}
		}
	}
	count(bucket{})
	count(bucket{namespace: c.pod.Pod.Namespace})
	for label, value := range c.pod.Pod.Labels {
		count(bucket{"", label, value})
		count(bucket{c.pod.Pod.Namespace, label, value})
	}
}

func (t *tally) hold(term *affinityTerm, slot int, sign int32) {
	h := t.held[term.key]
	if h == nil {
		h = &heldTerm{term: term, counts: make([]int32, t.width())}
		t.held[term.key] = h
	}
	h.counts[slot] += sign
	h.total += int(sign)
	if h.total == 0 {
		delete(t.held, term.key)
	}
}

// of returns the counts of a set by slot, valid until the next change. The first
// time it looks at every pod of the nodes.
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
			if set.has(p) {
				c.counts[slot]++
			}
		}
	}
	t.sets[set.key] = c
	b := set.bucket()
	t.index[b] = append(t.index[b], c)
	return c.counts
}

// forgetUnused drops the sets that no decision asked for since the last time. So
// many are kept then that it is worth the effort.
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
