package ownership

import "sync"

// comparison holds the entries of the differences that one Track finds, which end with it. So most
// writes allocate none.
type comparison struct {
	taken, removed []entry // found so far at the paths that are being compared
	room           []entry // the sets that are complete
}

// comparisons recycles them.
var comparisons = sync.Pool{New: func() any { return &comparison{} }}

// mark is the length of both lists where the comparison of one path began.
type mark struct{ taken, removed int }

func (c *comparison) begin() mark { return mark{len(c.taken), len(c.removed)} }

// add adds the differences beneath name.
func (c *comparison) add(name string, found difference) {
	if !found.taken.isEmpty() {
		found.taken.name = name
		c.taken = append(c.taken, found.taken)
	}
	if !found.removed.isEmpty() {
		found.removed.name = name
		c.removed = append(c.removed, found.removed)
	}
}

// end moves the differences since begin to d.
func (c *comparison) end(since mark, d *difference) {
	d.taken.sub, d.removed.sub = c.complete(c.taken[since.taken:]), c.complete(c.removed[since.removed:])
	c.taken, c.removed = c.taken[:since.taken], c.removed[:since.removed]
}

func (c *comparison) complete(entries []entry) set {
	if len(entries) == 0 {
		return nil
	}
	from := len(c.room)
	if from+len(entries) > cap(c.room) { // sets in the room that is full stay there
		c.room, from = make([]entry, 0, max(2*cap(c.room), 128, len(entries))), 0
	}
	c.room = append(c.room, entries...)
	return c.room[from:len(c.room):len(c.room)]
}

// recycle makes the comparison, whose sets are not used any more, ready for another one. It keeps no
// texts of the objects.
func (c *comparison) recycle() {
	for _, list := range []*[]entry{&c.taken, &c.removed, &c.room} {
		clear((*list)[:cap(*list)])
		*list = (*list)[:0]
	}
	if cap(c.room) <= maxRecycled {
		comparisons.Put(c)
	}
}

// maxRecycled caps the entries that a recycled comparison has room for: an object from outside may
// have many.
const maxRecycled = 4096
