package owned

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// expectationsTimeout is after what time of the cluster's a write that no event
// has confirmed is no longer waited for. Only an object that came and went while
// a watch was interrupted is ever waited for that long.
const expectationsTimeout = 5 * time.Minute

// Expectations know which of a controller's own writes its caches have not seen
// yet. An owner is decided on only when they are Met: then no cached count is
// older than the controller's own last word. Use it as the Tracker of the
// controller's executor, and let it Observe every event of what is owned, and of
// the owners themselves, before the event wakes an owner.
type Expectations struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	owners map[types.UID]*expected
}

var _ plan.Tracker = &Expectations{}

// expected are the expectations of one owner.
type expected struct {
	since time.Time
	// waiting has, by UID, what an object's events have to show.
	waiting map[types.UID]want
	// writing counts the plans under way. While there are any, seen remembers
	// events: an object's may come before the answer to the request that made it.
	writing int
	seen    map[types.UID]sighting
}

type want struct {
	// revision is the least resourceVersion; of no interest when deletion is.
	revision int64
	deletion bool
}

type sighting struct {
	revision int64
	deletion bool
	gone     bool
}

func (s sighting) meets(w want) bool {
	if w.deletion {
		return s.deletion || s.gone
	}
	return s.gone || s.revision >= w.revision
}

// NewExpectations returns expectations of nothing.
func NewExpectations(c clock.PassiveClock) *Expectations {
	return &Expectations{clock: c, owners: map[types.UID]*expected{}}
}

// Met reports whether the caches have seen all that has been written for the
// owner; if not, events will wake it, and after the returned time it is to be
// looked at in any case.
func (e *Expectations) Met(owner types.UID) (bool, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.owners[owner]
	if x == nil || len(x.waiting) == 0 {
		return true, 0
	}
	left := expectationsTimeout - e.clock.Since(x.since)
	if left <= 0 {
		clear(x.waiting)
		e.tidy(owner, x)
		return true, 0
	}
	return false, left
}

// Pending reports whether anything is being written for the owner, or has been and is
// not seen yet: then an event can be what a reconcile waits for.
func (e *Expectations) Pending(owner types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.owners[owner] != nil
}

// Begin starts to remember the owner's events.
func (e *Expectations) Begin(owner types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.owners[owner]
	if x == nil {
		x = &expected{waiting: map[types.UID]want{}}
		e.owners[owner] = x
	}
	x.writing++
	if x.seen == nil {
		x.seen = map[types.UID]sighting{}
	}
	x.since = e.clock.Now()
}

// End ends what Begin began.
func (e *Expectations) End(owner types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.owners[owner]
	if x == nil {
		return
	}
	if x.writing--; x.writing == 0 {
		x.seen = nil
	}
	e.tidy(owner, x)
}

// Written expects an event that shows o as it was stored, or later.
func (e *Expectations) Written(owner types.UID, o plan.Object) {
	e.expect(owner, o.GetUID(), want{revision: revisionOf(o)})
}

// Deleting expects an event that shows that o is being deleted or gone.
func (e *Expectations) Deleting(owner types.UID, o plan.Object) {
	e.expect(owner, o.GetUID(), want{deletion: true})
}

// Kept takes Deleting back.
func (e *Expectations) Kept(owner types.UID, o plan.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.owners[owner]; x != nil {
		delete(x.waiting, o.GetUID())
	}
}

func (e *Expectations) expect(owner, uid types.UID, w want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.owners[owner]
	if x == nil {
		return // Forget came between: there is no owner to wait for
	}
	if seen, ok := x.seen[uid]; ok && seen.meets(w) {
		return
	}
	if before, ok := x.waiting[uid]; ok {
		w.deletion = w.deletion || before.deletion
		w.revision = max(w.revision, before.revision)
	}
	x.waiting[uid] = w
}

// Observe takes note of an event of something that is owned, for its owner now
// and for the one before.
func (e *Expectations) Observe(ev loop.Event) {
	owner := ControllerUID(ev.Object)
	e.observe(owner, ev)
	if ev.Old != nil {
		if former := ControllerUID(ev.Old); former != owner {
			e.observe(former, ev)
		}
	}
}

// ObserveFor takes note of an event of something that is written for the owner but
// that the owner does not control.
func (e *Expectations) ObserveFor(owner types.UID, ev loop.Event) { e.observe(owner, ev) }

// ObserveOwner takes note of an event of an owner, whose own status is written
// too, and forgets it when it is gone.
func (e *Expectations) ObserveOwner(ev loop.Event) {
	if ev.Type != loop.Deleted {
		e.observe(ev.Object.GetUID(), ev)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.owners, ev.Object.GetUID())
}

func (e *Expectations) observe(owner types.UID, ev loop.Event) {
	if owner == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.owners[owner]
	if x == nil {
		return
	}
	uid := ev.Object.GetUID()
	now := sighting{
		revision: revisionOf(ev.Object),
		deletion: ev.Object.GetDeletionTimestamp() != nil,
		gone:     ev.Type == loop.Deleted,
	}
	if w, ok := x.waiting[uid]; ok && now.meets(w) {
		delete(x.waiting, uid)
	}
	if x.writing > 0 {
		x.seen[uid] = now
	}
	e.tidy(owner, x)
}

// tidy drops an owner of whom nothing is expected.
func (e *Expectations) tidy(owner types.UID, x *expected) {
	if x.writing == 0 && len(x.waiting) == 0 {
		delete(e.owners, owner)
	}
}

func revisionOf(o metav1.Object) int64 {
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
