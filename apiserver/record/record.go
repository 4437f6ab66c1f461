package record

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Effect is what a write did to its object.
type Effect string

// The effects. An object that is marked as to be deleted is changed.
const (
	Created Effect = "created"
	Changed Effect = "changed"
	Removed Effect = "removed"
)

// Write is one revision.
type Write struct {
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Actor is the user, and UserAgent the client they used.
	Actor     string `json:"actor"`
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is the request's: create, update, patch, delete.
	Verb        string                      `json:"verb"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	Subresource string                      `json:"subresource,omitempty"`
	// Kind is the object's, and Effect what became of it.
	Kind      string    `json:"kind,omitempty"`
	Effect    Effect    `json:"effect,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// Causes are the revisions that woke the reconcile that wrote this.
	Causes []int64 `json:"causes,omitempty"`
	// Controller is the object's controller owner, if a client outside the cluster wrote
	// it without causes: an inference follows it.
	Controller *Owner `json:"controller,omitempty"`
	// Changes are the fields that became different, as far as they tell something.
	Changes []Change `json:"changes,omitempty"`
}

// Log is a bounded record of writes. It is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	capacity  int
	ring      []Write
	total     int64
	observers map[int]func(*Write)
	objects   map[int]ObjectObserver
	nextID    int
	differ    differ
}

// ObjectObserver is told of a write with its object's states before and after; old is
// nil for a new object, and obj the last state of one that was removed. Neither may be
// changed.
type ObjectObserver func(w *Write, old, obj runtime.Object)

// DefaultCapacity is how many writes a Log keeps unless told otherwise.
const DefaultCapacity = 100_000

// NewLog returns a log of the newest capacity writes; 0 is DefaultCapacity. Memory
// is taken as writes come in.
func NewLog(capacity int) *Log {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Log{capacity: capacity}
}

// Add keeps one write, with what it changed from old, which may be nil, to obj, and with
// obj's controller owner where an inference needs it.
func (l *Log) Add(w Write, old, obj runtime.Object) {
	if w.Changes == nil && w.Effect != Removed {
		w.Changes = l.differ.changes(old, obj)
	}
	if w.Controller == nil {
		w.Controller = w.ownerOf(obj)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < l.capacity {
		l.ring = append(l.ring, w)
	} else {
		l.ring[l.total%int64(l.capacity)] = w
	}
	l.total++
	for _, observe := range l.observers {
		observe(&w)
	}
	for _, observe := range l.objects {
		observe(&w, old, obj)
	}
}

// ObserveObjects is Observe for those who want to see the objects, too.
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

// Observe calls observe with every write from now on, until the function that it
// returns is called. The call is made within the request that wrote, so that the
// ledger still counts it; observe must be quick, and must not call the Log.
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

// Writes returns the kept writes that match, oldest first; a nil match is all.
// Concurrent writers may add revisions slightly out of order.
func (l *Log) Writes(match func(*Write) bool) []Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Write
	start := 0
	if len(l.ring) == l.capacity {
		start = int(l.total % int64(l.capacity))
	}
	for i := range l.ring {
		w := &l.ring[(start+i)%len(l.ring)]
		if match == nil || match(w) {
			out = append(out, *w)
		}
	}
	return out
}

// Forgotten is how many writes the log no longer has.
func (l *Log) Forgotten() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total - int64(len(l.ring))
}
