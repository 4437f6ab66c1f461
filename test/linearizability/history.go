package linearizability

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Verb is the operation of a request on a key.
type Verb string

// The verbs. A list is recorded as one observation for each key.
const (
	Get    Verb = "get"
	List   Verb = "list"
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Outcome is the outcome of a request, as far as the client knows it.
type Outcome string

// The outcomes. Unknown requests may have been made, or be made later; all others were, or
// were refused because of the key's state.
const (
	Done     Outcome = "done"
	Exists   Outcome = "already exists"
	NotFound Outcome = "not found"
	Conflict Outcome = "conflict"
	Unknown  Outcome = "unknown"
)

// Operation is one request about one key.
type Operation struct {
	Client int
	Verb   Verb
	Key    string
	// Value is the value that a write puts or a read returns. No two writes have the same value.
	Value string
	// Expected is the revision that an update or a delete requires.
	Expected int64
	Outcome  Outcome
	// Revision is the key's revision in the response; 0 if there is none.
	Revision int64
	// ListRevision is the revision of a list.
	ListRevision int64
	// Call and Return are the times at which the request began and its response came,
	// since the history began. A request with an unknown outcome has no end.
	Call, Return time.Duration
}

const never = time.Duration(math.MaxInt64)

func (o Operation) String() string {
	text := fmt.Sprintf("client %d: %s %s", o.Client, o.Verb, o.Key)
	if o.Expected != 0 {
		text += fmt.Sprintf(" at %d", o.Expected)
	}
	if o.Value != "" {
		text += fmt.Sprintf(" %q", o.Value)
	}
	text += ": " + string(o.Outcome)
	if o.Revision != 0 {
		text += fmt.Sprintf(" (revision %d)", o.Revision)
	}
	return text
}

// writes reports whether the operation changed, or may have changed, its key.
func (o Operation) writes() bool {
	return o.Verb != Get && o.Verb != List && (o.Outcome == Done || o.Outcome == Unknown)
}

// History records operations of concurrent clients. The zero value is not usable.
type History struct {
	elapsed func() time.Duration

	mu         sync.Mutex
	operations []Operation
	refused    int
}

// NewHistory returns an empty history that begins now.
func NewHistory() *History { return &History{elapsed: clock.Stopwatch()} }

// Now returns the time since the history began.
func (h *History) Now() time.Duration { return h.elapsed() }

// Add records operations that are complete, or will never be known to be.
func (h *History) Add(operations ...Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, operations...)
}

// Refuse counts a request that certainly had no effect.
func (h *History) Refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused++
}

// Operations returns a copy of the recorded operations, and the number of requests that had no
// effect.
func (h *History) Operations() (operations []Operation, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.operations), h.refused
}
