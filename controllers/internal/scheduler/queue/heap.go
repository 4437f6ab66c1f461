package queue

import "container/heap"

// podHeap is a heap of queued pods, which store their position in it.
type podHeap struct{ items podItems }

type podItems struct {
	pods []*queuedPod
	less func(a, b *queuedPod) bool
}

func newPodHeap(less func(a, b *queuedPod) bool) *podHeap {
	return &podHeap{items: podItems{less: less}}
}

func (h *podHeap) len() int { return len(h.items.pods) }

func (h *podHeap) push(q *queuedPod) { heap.Push(&h.items, q) }

func (h *podHeap) peek() *queuedPod { return h.items.pods[0] }

func (h *podHeap) remove(q *queuedPod) { heap.Remove(&h.items, q.index) }

func (p *podItems) Len() int { return len(p.pods) }

func (p *podItems) Less(i, j int) bool { return p.less(p.pods[i], p.pods[j]) }

func (p *podItems) Swap(i, j int) {
	p.pods[i], p.pods[j] = p.pods[j], p.pods[i]
	p.pods[i].index, p.pods[j].index = i, j
}

func (p *podItems) Push(x any) {
	q := x.(*queuedPod)
	q.index = len(p.pods)
	p.pods = append(p.pods, q)
}

func (p *podItems) Pop() any {
	last := len(p.pods) - 1
	q := p.pods[last]
	p.pods[last] = nil
	p.pods = p.pods[:last]
	q.index = -1
	return q
}
