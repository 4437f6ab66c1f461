package scheduler

// maxImprovements bounds what is remembered for pods that are being decided
// upon; who would have to know more is retried.
const maxImprovements = 4096

// improvements remembers the nodes that got better while pods were being decided
// upon: their decisions rest on a snapshot that does not show it. The zero value
// is ready; its owner guards it.
type improvements struct {
	nodes    []string
	base     int // how many came before nodes[0]
	deciding int
}

// begin returns the mark of a pod that is popped.
func (i *improvements) begin() (mark int) {
	i.deciding++
	return i.base + len(i.nodes)
}

// end says that a popped pod has no more interest in what happens.
func (i *improvements) end() {
	i.deciding--
	if i.deciding == 0 {
		i.forget()
	}
}

// add remembers that a node got better, if somebody could have to know.
func (i *improvements) add(node string) {
	if i.deciding == 0 {
		return
	}
	if len(i.nodes) == maxImprovements {
		i.forget()
	}
	i.nodes = append(i.nodes, node)
}

func (i *improvements) forget() {
	i.base += len(i.nodes)
	i.nodes = i.nodes[:0]
}

// any reports whether a node that got better since the mark helps.
func (i *improvements) any(mark int, helps func(node string) bool) bool {
	if mark < i.base {
		return true
	}
	for _, node := range i.nodes[mark-i.base:] {
		if helps(node) {
			return true
		}
	}
	return false
}

// nodeImproved retries the pods that may fit on the node now.
func (q *queue) nodeImproved(node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.improved.add(node)
	var helped []*queuedPod
	for _, p := range q.waiting {
		if q.helps(p, node) {
			helped = append(helped, p)
		}
	}
	q.retryAllLocked(helped)
}
