package ctrltest

import (
	"cmp"

	"minikcm.dev/minikcm/internal/inflight"
)

// item is a request to work on.
type item[T comparable] struct {
	request  T
	priority int
	place    inflight.Place
	number   uint64                     // the number of the add, which orders items of the same place
	index    int                        // the index in readyItems, or -1
	ticket   *inflight.Ticket[*item[T]] // nil unless the item is counted
}

// readyItems is a heap of the items whose requests no worker has, the next one first.
type readyItems[T comparable] []*item[T]

func (h readyItems[T]) Len() int { return len(h) }

func (h readyItems[T]) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.place.Compare(b.place), cmp.Compare(a.number, b.number)) < 0
}

func (h readyItems[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *readyItems[T]) Push(x any) {
	it := x.(*item[T])
	it.index = len(*h)
	*h = append(*h, it)
}

func (h *readyItems[T]) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	it.index = -1
	return it
}
