package store

import (
	"cmp"
	"fmt"
	"slices"
)

// keyHistory follows the records of a database, in the order of their revisions, and finds records
// that contradict an earlier one.
type keyHistory struct {
	value func(key string, value []byte) error
	// keys has the newest record of each key, without its value.
	keys   map[string]record
	values []DamagedValue
	// revisions are the existing revisions, as intervals without gaps.
	revisions []interval
	unsorted  bool
	// dropped are the keys whose newest record has a damaged value.
	dropped map[string]bool
	// contradictions are in the order of their revisions.
	contradictions []contradiction
}

// contradiction is a revision of a key that does not follow the key's previous revision.
type contradiction struct {
	revision int64
	// err is nil if a damaged value is the cause.
	err error
}

// interval is a range of revisions, both ends included.
type interval struct{ first, last int64 }

func newKeyHistory(value func(string, []byte) error) *keyHistory {
	return &keyHistory{value: value, keys: map[string]record{}, dropped: map[string]bool{}}
}

// found adds the revision of a record that was found outside the order of revisions.
func (h *keyHistory) found(r record) {
	h.revisions = append(h.revisions, interval{r.revision, r.revision})
	h.unsorted = true
}

// add adds a record.
func (h *keyHistory) add(r record) {
	// A record without a key raises the revision: there is nothing between.
	if n := len(h.revisions); n > 0 && (r.revision <= h.revisions[n-1].last+1 || len(r.key) == 0) {
		h.revisions[n-1].last = max(h.revisions[n-1].last, r.revision)
	} else {
		h.revisions = append(h.revisions, interval{r.revision, r.revision})
	}
	if len(r.key) == 0 {
		return
	}
	key := string(r.key)
	before, known := h.keys[key]
	if h.dropped[key] {
		h.contradictions = append(h.contradictions, contradiction{revision: r.revision})
		delete(h.dropped, key)
	}
	if h.value != nil && !r.tombstone {
		if err := h.value(key, r.value); err != nil {
			h.dropped[key] = true
			h.values = append(h.values, DamagedValue{Key: key, Revision: r.revision, Problem: err.Error()})
		}
	}
	h.keys[key] = r.facts()
	if !known || r.tombstone || before.tombstone || r.created == before.created && r.version == before.version+1 {
		return
	}
	h.contradictions = append(h.contradictions, contradiction{r.revision, fmt.Errorf("revision %d of %q is version %d from revision %d, but revision %d is version %d from revision %d",
		r.revision, key, r.version, r.created, before.revision, before.version, before.created)})
}

// contradicted returns the contradictions after the last compaction: of earlier revisions,
// only the newest of each key matters, and a compaction that has been scheduled or
// interrupted has left some of the others.
func (h *keyHistory) contradicted(compacted int64) []contradiction {
	i, _ := slices.BinarySearchFunc(h.contradictions, compacted+1, func(c contradiction, revision int64) int { return cmp.Compare(c.revision, revision) })
	return h.contradictions[i:]
}

// missing returns an error if there are revisions since the last compaction without a record.
func (h *keyHistory) missing(compacted int64) error {
	lost := h.lost(compacted)
	if len(lost) == 0 {
		return nil
	}
	count := int64(0)
	for _, l := range lost {
		count += l.last - l.first + 1
	}
	return fmt.Errorf("%s between %d and %d without a record", plural(int(count), "revision"), lost[0].first, lost[len(lost)-1].last)
}

// lost returns the gaps between the revisions after compacted. A gap before the first record
// is none: etcd's first revision has no record, and a restored snapshot may begin later.
func (h *keyHistory) lost(compacted int64) []interval {
	if len(h.revisions) == 0 {
		return nil
	}
	if h.unsorted {
		slices.SortFunc(h.revisions, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
		h.unsorted = false
	}
	var lost []interval
	next := max(h.revisions[0].first, compacted+1)
	for _, p := range h.revisions {
		if p.first > next {
			lost = append(lost, interval{next, p.first - 1})
		}
		next = max(next, p.last+1)
	}
	return lost
}

// damaged returns the damaged values.
func (h *keyHistory) damaged() []DamagedValue {
	values := slices.Clone(h.values)
	for i, v := range values {
		values[i].Current = h.keys[v.Key].revision == v.Revision
	}
	return values
}
