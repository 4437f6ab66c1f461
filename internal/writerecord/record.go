package writerecord

import (
	"cmp"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Effect is the effect of a write on its object.
type Effect string

// The effects. Marking an object for deletion is Changed.
const (
	Created Effect = "created"
	Changed Effect = "changed"
	Removed Effect = "removed"
)

// Write is the record of one revision.
type Write struct {
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Actor is the user, UserAgent the user's client.
	Actor     string `json:"actor"`
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is the request's verb: create, update, patch, delete.
	Verb        string                      `json:"verb"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	Subresource string                      `json:"subresource,omitempty"`
	// Kind is the object's kind, Effect the effect of the write on it.
	Kind      string    `json:"kind,omitempty"`
	Effect    Effect    `json:"effect,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// Causes are the revisions whose events triggered the reconcile that made this
	// write.
	Causes []int64 `json:"causes,omitempty"`
	// Controller is the object's controller owner, if a client outside the cluster wrote
	// it without causes. Inference uses it.
	Controller *Owner `json:"controller,omitempty"`
	// Changes are the fields that changed, except uninformative ones.
	Changes []Change `json:"changes,omitempty"`
}

// Log is a bounded write record. It is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	ring      ring
	observers map[int]func(*Write)
	objects   map[int]ObjectObserver
	nextID    int
	refusals  *Refusals
}

// ObjectObserver is called with a write and its object's states before and after. old is
// nil for a new object; obj is the last state of a deleted one. Neither may be modified.
type ObjectObserver func(w *Write, old, obj runtime.Object)

// DefaultCapacity is the default number of writes that a Log keeps.
const DefaultCapacity = 100_000

// NewLog returns a log that keeps the newest capacity writes; 0 means DefaultCapacity.
// It allocates memory as writes are added.
func NewLog(capacity int) *Log {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Log{ring: ring{capacity: capacity}, refusals: NewRefusals(capacity)}
}

// Refusals returns the record of the requests that were refused.
func (l *Log) Refusals() *Refusals { return l.refusals }

// Add records one write, with the changes from old, which may be nil, to obj, and with
// obj's controller owner if inference needs it.
func (l *Log) Add(w Write, old, obj runtime.Object) {
	if w.Changes == nil && w.Effect != Removed {
		w.Changes = diff(old, obj)
	}
	if w.Controller == nil {
		w.Controller = w.ownerOf(obj)
	}
	if l.refusals.some.Load() {
		l.refusals.succeeded(&w, controllerOf(obj))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring.add(&w)
	if len(l.observers)+len(l.objects) > 0 {
		l.show(w, old, obj)
	}
}

// show calls the observers with a copy of a write. The caller holds mu.
func (l *Log) show(w Write, old, obj runtime.Object) {
	for _, observe := range l.observers {
		observe(&w)
	}
	for _, observe := range l.objects {
		observe(&w, old, obj)
	}
}

// ObserveObjects is Observe for functions that also need the objects.
func (l *Log) ObserveObjects(observe ObjectObserver) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects == nil {
		l.objects = map[int]ObjectObserver{}
	}
	id := l.nextID
	l.nextID++
	l.objects[id] = observe
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.objects, id)
	}
}

// Observe calls observe with every write from now on, until stop is called. The call is
// made within the request that wrote, which the ledger still counts; observe must be
// quick and must not call the Log.
func (l *Log) Observe(observe func(*Write)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.observers == nil {
		l.observers = map[int]func(*Write){}
	}
	id := l.nextID
	l.nextID++
	l.observers[id] = observe
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.observers, id)
	}
}

// Writes returns the kept writes that match, oldest first; a nil match selects all.
// Concurrent writers may add revisions slightly out of order.
func (l *Log) Writes(match func(*Write) bool) []Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Write
	var w Write
	for i := range l.ring.count() {
		if w = l.ring.at(i).write(); match == nil || match(&w) {
			out = append(out, w)
		}
	}
	return out
}

// Since returns the kept writes that match and that a reader who has seen a revision may have
// missed, in the order of their revisions: the later revisions, and the writes that were recorded
// after the one of that revision. Concurrent writes are recorded in the order in which they end:
//
//	writer 1 commits revision 7
//	writer 2 commits revision 8, and records it
//	a reader gets 8, and will ask for what follows
//	writer 1 records 7: Since(8) returns it
//
// Writes may be returned again: their revisions identify them. A nil match selects all.
func (l *Log) Since(revision int64, match func(*Write) bool) []Write {
	seen := false
	writes := l.Writes(func(w *Write) bool {
		if w.Revision == revision {
			seen = true
			return false
		}
		return (seen || w.Revision > revision) && (match == nil || match(w))
	})
	slices.SortStableFunc(writes, func(a, b Write) int { return cmp.Compare(a.Revision, b.Revision) })
	return writes
}

// Size returns the number of kept writes and an estimate of the bytes of memory that they take.
func (l *Log) Size() (writes int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.count(), l.ring.bytes
}

// Capacity returns how many writes the log keeps.
func (l *Log) Capacity() int { return l.ring.capacity }

// Forgotten returns the number of writes that the log has dropped.
func (l *Log) Forgotten() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.forgotten()
}
