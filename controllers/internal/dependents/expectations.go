package dependents

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// expectationsTimeout is the time of the cluster's clock after which a write that no event
// has confirmed is no longer waited for. It expires only for an object that was created and
// deleted while a watch was interrupted.
const expectationsTimeout = 5 * time.Minute

// Expectations records which of a controller's own writes its caches do not show yet. A
// controller decides about an owner only when its expectations are Met: then the cached
// counts include all of the controller's own writes. Use it as the Tracker of the
// controller's executor, and pass every event of the owned objects and of the owners to
// Observe and ObserveOwner before the event enqueues an owner.
type Expectations struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	owners map[types.UID]*expected
}

// expected holds the expectations of one owner.
type expected struct {
	since time.Time
	// waiting holds, by UID, the change that an event of the object has to show.
	waiting map[types.UID]want
	// writing counts the plans being executed. While it is not 0, seen remembers the events
	// of the owner's objects, because an event may arrive before the response to the write:
	//
	//	reconcile  Begin(owner), sends the create of pod p
	//	informer   event of p at revision 7: Observe records it in seen
	//	reconcile  gets the response, calls Written(p at revision 7): seen confirms it
	//	reconcile  End(owner) drops seen
	//
	// Without seen, Written would wait until expectationsTimeout for an event that has
	// passed.
	writing int
	seen    map[types.UID]sighting
}

type want struct {
	// revision is the least resourceVersion to wait for; ignored if deletion is set.
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

// NewExpectations returns an empty Expectations.
func NewExpectations(c clock.PassiveClock) *Expectations {
	return &Expectations{clock: c, owners: map[types.UID]*expected{}}
}

// Met reports whether the caches show all writes for the owner. If not, events will enqueue
// the owner, and the caller requeues it after the returned time in case they do not arrive.
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

// Pending reports whether a write for the owner is being made, or has been made and is not
// confirmed yet: then a reconcile may be waiting for an event.
func (e *Expectations) Pending(owner types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.owners[owner] != nil
}

// Begin starts to record the events of the owner's objects.
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

// End ends the write that the matching Begin started.
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

// Written expects an event that shows o at its resourceVersion or a later one.
func (e *Expectations) Written(owner types.UID, o plan.Object) {
	e.expect(owner, o.GetUID(), want{revision: revisionOf(o)})
}

// Deleting expects an event that shows o as being deleted or as gone.
func (e *Expectations) Deleting(owner types.UID, o plan.Object) {
	e.expect(owner, o.GetUID(), want{deletion: true})
}

// Kept withdraws Deleting.
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
		return // ObserveOwner has forgotten the owner: it is gone
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

// Observe records an event of an owned object, for its present controller and for the
// previous one.
func (e *Expectations) Observe(ev loop.Event) {
	owner := controllerref.ControllerUID(ev.Object)
	e.observe(owner, ev)
	if ev.Old != nil {
		if former := controllerref.ControllerUID(ev.Old); former != owner {
			e.observe(former, ev)
		}
	}
}

// ObserveFor records an event of an object that is written for the owner without being
// controlled by it.
func (e *Expectations) ObserveFor(owner types.UID, ev loop.Event) { e.observe(owner, ev) }

// ObserveOwner records an event of an owner, whose own status is written too. It forgets an
// owner that is gone.
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

// tidy forgets an owner without expectations.
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
