package scheduler

// maxImprovements bounds what is remembered for pods that are being decided
// upon; who would have to know more is retried.
const maxImprovements = 4096

// improvements remembers what changed for the better while pods were being
// decided upon: their decisions rest on a snapshot that does not show it. The zero
// value is ready; its owner guards it.
type improvements struct {
	changes  []change
	base     int // how many came before changes[0]
	deciding int
}

// begin returns the mark of a pod that is popped.
func (i *improvements) begin() (mark int) {
	i.deciding++
	return i.base + len(i.changes)
}

// end says that a popped pod has no more interest in what happens.
func (i *improvements) end() {
	i.deciding--
	if i.deciding == 0 {
		i.forget()
	}
}

// add remembers a change, if somebody could have to know.
func (i *improvements) add(c change) {
	if i.deciding == 0 {
		return
	}
	if len(i.changes) == maxImprovements {
		i.forget()
	}
	i.changes = append(i.changes, c)
}

func (i *improvements) forget() {
	i.base += len(i.changes)
	clear(i.changes) // so that they hold no pods
	i.changes = i.changes[:0]
}

// any reports whether a change since the mark helps.
func (i *improvements) any(mark int, helps func(c change) bool) bool {
	if mark < i.base {
		return true
	}
	for _, c := range i.changes[mark-i.base:] {
		if helps(c) {
			return true
		}
	}
	return false
}

// changed retries the pods that may be let in by the change.
func (q *queue) changed(c change) {
	if !c.any() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.improved.add(c)
	candidates := q.waiting
	if c.node == "" {
		candidates = q.ruled
	}
	var helped []*queuedPod
	for _, p := range candidates {
		if q.helps(p, c) {
			helped = append(helped, p)
		}
	}
	q.retryAllLocked(helped)
}
