package framework

// WhatIf changes which pods are on the nodes of a snapshot, and takes all changes back. While it does, nothing else
// may change the snapshot, but for another WhatIf that is undone before this one.
type WhatIf struct {
	snapshot *Snapshot
	// was are the nodes as they were before the first change of each, by index.
	was     map[int]*NodeInfo
	changes []PodChange
}

// WhatIf returns a WhatIf without changes.
func (s *Snapshot) WhatIf() *WhatIf { return &WhatIf{snapshot: s, was: map[int]*NodeInfo{}} }

// Add puts a pod on the node at the index.
func (w *WhatIf) Add(index int, p *PodInfo) { w.change(index, p, 1) }

// Remove takes a pod off the node at the index.
func (w *WhatIf) Remove(index int, p *PodInfo) { w.change(index, p, -1) }

func (w *WhatIf) change(index int, p *PodInfo, sign int32) {
	n := w.snapshot.nodes[index]
	if w.was[index] == nil {
		w.was[index] = n
	}
	if sign > 0 {
		w.snapshot.nodes[index] = n.With(p)
	} else {
		w.snapshot.nodes[index] = n.Without(p)
	}
	change := PodChange{Node: n.Name(), Pod: p, Sign: sign}
	w.snapshot.tally.change(change)
	w.changes = append(w.changes, change)
}

// Undo reverts all changes: the nodes are the same as before, with their pods in the same order.
func (w *WhatIf) Undo() {
	for index, n := range w.was {
		w.snapshot.nodes[index] = n
	}
	for i := len(w.changes) - 1; i >= 0; i-- {
		c := w.changes[i]
		c.Sign = -c.Sign
		w.snapshot.tally.change(c)
	}
	clear(w.was)
	w.changes = nil
}
