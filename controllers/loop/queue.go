package loop

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"minikcm.dev/minikcm/clock"
)

// countedQueue tells the ledger of each key that is pushed, under the work
// queue's own lock, so that the two never disagree. A popped key goes on being
// counted while it is reconciled; Loop.done ends it.
type countedQueue struct {
	keys   []types.NamespacedName
	head   int
	ledger *clock.Ledger
}

var _ workqueue.Queue[types.NamespacedName] = &countedQueue{}

// Touch does nothing: an added key keeps its place.
func (q *countedQueue) Touch(types.NamespacedName) {}

func (q *countedQueue) Push(key types.NamespacedName) {
	q.ledger.Begin(clock.Key, 1)
	q.keys = append(q.keys, key)
}

func (q *countedQueue) Len() int { return len(q.keys) - q.head }

func (q *countedQueue) Pop() types.NamespacedName {
	key := q.keys[q.head]
	q.keys[q.head] = types.NamespacedName{}
	q.head++
	if q.head == len(q.keys) {
		q.keys, q.head = q.keys[:0], 0
	}
	return key
}
