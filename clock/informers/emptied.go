package informers

import "k8s.io/client-go/tools/cache"

// An emptied content consists of objects that a list without objects has removed from the informer. Such a list has nothing of its own that
// could be counted, but the handlers get a deletion for each known object. The deletions that another list leads to precede its objects in
// the queue and in the buffers of the handlers, so that they are counted with these.
//
//	the client                      the reflector             a handler                  the ledger counts
//	gets the end of the list                                                             the end
//	knows two objects                                                                    the end, the emptied content
//	reads again                     takes the end                                        the emptied content
//	                                replaces the content
//	                                                          returns from one object    the emptied content
//	                                                          returns from the other
type emptied struct {
	// left are the objects that each handler has not returned from.
	left map[*handler]int
	// stored means that the reflector has the whole list.
	stored bool
}

// listEnds is called with the end of a list, before the reflector gets it. streamed means that the end is a frame that is counted.
//
// It counts nothing while earlier changes are on their way, since then it is not known how many objects there will be. On virtual time there
// are none: some passes before a reflector lists again.
func (f *flow) listEnds(turn uint64, streamed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frames := f.initialFrames
	if streamed {
		frames--
	}
	if turn != f.turn || f.stopped || f.emptied != nil || frames+f.frames+len(f.changes) > 0 {
		return
	}
	known := f.known()
	if known == 0 || len(f.handlers) == 0 {
		return
	}
	f.emptied = &emptied{left: map[*handler]int{}, stored: streamed}
	for h := range f.handlers {
		f.emptied.left[h] = known
	}
	f.counted.Add(1)
}

// watchesOn is called before the request for the events after a list, which the reflector has stored.
func (f *flow) watchesOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.emptied != nil {
		f.emptied.stored = true
	}
}

// deleted is called when h has returned from a deletion.
func (f *flow) deleted(h *handler, obj any) {
	if _, unseen := obj.(cache.DeletedFinalStateUnknown); !unseen {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.emptied == nil || f.emptied.left[h] == 0 {
		return
	}
	f.emptied.left[h]--
	if f.emptied.left[h] == 0 {
		f.withoutLocked(h)
	}
}

// withoutLocked stops waiting for h.
func (f *flow) withoutLocked(h *handler) {
	if f.emptied == nil {
		return
	}
	delete(f.emptied.left, h)
	if len(f.emptied.left) == 0 {
		f.dropEmptiedLocked()
	}
}

// dropEmptiedLocked stops counting the deletions: they are over, will not come, or precede an object that is counted.
func (f *flow) dropEmptiedLocked() {
	if f.emptied != nil {
		f.emptied = nil
		f.counted.Add(-1)
	}
}
