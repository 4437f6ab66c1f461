package loop

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"minikcm.dev/minikcm/clock"
)

// turnQueue is the queue of a loop whose keys wait for their turn in the ledger.
// Work is done by one worker, which waits for the grant before it asks the work
// queue for a key: it gets the one that was granted. Granted counts as in flight, as
// countedQueue's popped keys do.
type turnQueue struct {
	name    string
	ledger  *clock.Ledger
	granted chan types.NamespacedName

	// Guarded by the work queue's lock.
	waiting map[types.NamespacedName]*clock.Turn
	// next is set by the worker between its grant and its Get, when nobody else pops.
	next *types.NamespacedName
}

var _ workqueue.Queue[types.NamespacedName] = &turnQueue{}

func newTurnQueue(name string, ledger *clock.Ledger) *turnQueue {
	return &turnQueue{
		name: name, ledger: ledger,
		// There is one turn at a time, so there is room for it.
		granted: make(chan types.NamespacedName, 1),
		waiting: map[types.NamespacedName]*clock.Turn{},
	}
}

// Touch does nothing: an added key keeps its place.
func (q *turnQueue) Touch(types.NamespacedName) {}

func (q *turnQueue) Push(key types.NamespacedName) {
	q.waiting[key] = q.ledger.Join(clock.Key, q.name, key.String(), func() { q.granted <- key })
}

func (q *turnQueue) Len() int { return len(q.waiting) }

// Pop returns the granted key. Without one the loop is being stopped, and any will do.
func (q *turnQueue) Pop() types.NamespacedName {
	key := types.NamespacedName{}
	if q.next != nil {
		key, q.next = *q.next, nil
	} else {
		for key = range q.waiting {
			break
		}
		if !q.waiting[key].Take() {
			// It was granted to a worker that has ended. Were the grant left in the channel,
			// the next one would block, with the ledger's lock held.
			<-q.granted
		}
	}
	delete(q.waiting, key)
	return key
}

// grant waits until a key of the queue may be worked on; false when ctx has ended.
func (q *turnQueue) grant(ctx context.Context) bool {
	select {
	case key := <-q.granted:
		q.next = &key
		return true
	case <-ctx.Done():
		return false
	}
}
