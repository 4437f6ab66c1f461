package informers

import (
	"context"
	"io"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/internal/inflight"
)

// maxHeld is the number of frames of one watch that wait for steps. If there are more, they pass without.
const maxHeld = 10_000

// Delivery is the detail of a stop on the way of an event to an informer's content (inflight.Waiting).
type Delivery struct {
	// Queue reports that the reflector has decoded the event, and adds it to the informer's queue; otherwise it has not read it.
	Queue bool
	Event watch.EventType
	// Object is the object of the event; nil if it is not known before it is decoded.
	Object runtime.Object
	// Behind returns the number of events of the watch that wait until the handlers have returned from this one.
	Behind func() int
}

// heldFrames are the frames of a watch that wait for the reflector. They are read from the stream as they come, so that only
// they are in flight, and passed to the reflector one by one: the next one when all handlers have returned from the one before.
//
// If the stream ends or too many frames wait, they pass without a step.
//
//	the pump                the ledger                the reflector         the caller of Step
//	reads frames 1 and 2    1 event waits
//	                        1 event runs                                    Step: frame 1
//	                                                  reads, stores it
//	                        2 handlers wait           waits for frame 2     returns
//	                        frame 2 waits                                   two steps later
//
// flow.mu guards the fields, except granted: the ledger grants under its own lock.
type heldFrames struct {
	frames []frame
	// err is the end of the stream, after the frames.
	err error
	// arrival is the first frame while it waits.
	arrival *inflight.Arrival
	granted atomic.Bool
	wake    chan struct{} // has a value when Read may go on
	ended   chan struct{} // closed when the pump has ended
}

func (h *heldFrames) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// hold takes data, the bytes that were read last, and makes the frames that begin in it and after it wait for steps. What ends a frame that the
// client has begun to read remains unread. It reports false if that frame does not end there: it is held later.
func (b *body) hold(data []byte) bool {
	var passes []byte
	if len(b.partial) > 0 {
		_, rest, whole := b.scan(append(b.partial[:len(b.partial):len(b.partial)], data...))
		if !whole {
			return false
		}
		passes, data = data[:len(data)-len(rest)], rest
		b.count(passes)
	}
	b.unread = passes
	h := &heldFrames{wake: make(chan struct{}, 1), ended: make(chan struct{})}
	b.flow.mu.Lock()
	b.held, b.flow.stepped = h, h
	b.flow.mu.Unlock()
	partial := b.add(nil, data, b.err)
	if b.err != nil {
		close(h.ended)
		return true
	}
	go b.pump(partial)
	return true
}

// pump reads the stream until it ends.
func (b *body) pump(partial []byte) {
	defer close(b.held.ended)
	buf := make([]byte, smallRead)
	for {
		n, err := b.ReadCloser.Read(buf)
		partial = b.add(partial, buf[:n], err)
		if err != nil {
			return
		}
	}
}

// add queues the frames that end in data, and returns the bytes of the one that does not.
func (b *body) add(partial, data []byte, err error) (rest []byte) {
	data = append(partial, data...) // a copy: frames refer to it
	var frames []frame
	for len(data) > 0 {
		f, rest, whole := b.scan(data)
		if !whole {
			break
		}
		f.raw = data[:len(data)-len(rest)]
		frames = append(frames, f)
		data = rest
	}
	b.flow.mu.Lock()
	defer b.flow.mu.Unlock()
	b.held.frames = append(b.held.frames, frames...)
	if b.held.err = err; err != nil && b.held.arrival != nil {
		b.held.arrival.Pass()
	}
	b.flow.admitLocked()
	b.held.signal()
	return append([]byte(nil), data...)
}

// next waits for the next frame, and makes it unread.
func (b *body) next() error {
	h := b.held
	for {
		b.flow.mu.Lock()
		b.flow.admitLocked()
		switch {
		case len(h.frames) > 0 && h.granted.Load():
			first, arrival := h.frames[0], h.arrival
			h.frames, h.arrival = h.frames[1:], nil
			h.granted.Store(false)
			b.flow.mu.Unlock()
			b.unread = first.raw
			b.count(first.raw) // before it ends to be counted as an arrival
			if arrival != nil {
				arrival.End()
			}
			return nil
		case len(h.frames) == 0 && h.err != nil:
			b.flow.mu.Unlock()
			b.err = h.err
			b.flow.disconnect(b.turn)
			return b.err
		}
		b.flow.mu.Unlock()
		<-h.wake
	}
}

// release drops the frames: the client has closed the stream.
func (b *body) release(h *heldFrames) {
	<-h.ended
	b.flow.mu.Lock()
	defer b.flow.mu.Unlock()
	h.frames, h.err = nil, io.EOF
	if h.arrival != nil {
		h.arrival.End()
		h.arrival = nil
	}
	if b.flow.stepped == h {
		b.flow.stepped = nil
	}
	h.signal()
}

// admitLocked makes the first held frame wait for a step, if all changes before it are done with.
func (f *flow) admitLocked() {
	h := f.stepped
	if h == nil || len(h.frames) == 0 || h.arrival != nil || h.granted.Load() || f.frames+f.initialFrames+len(f.changes) > 0 {
		return
	}
	grant := func() {
		h.granted.Store(true)
		h.signal()
	}
	first := h.frames[0]
	if first.kind == watch.Bookmark || len(h.frames) > maxHeld || h.err != nil {
		grant()
		return
	}
	at := Delivery{Event: first.kind, Behind: f.behind}
	if f.peek != nil {
		at.Object = f.peek(first.data)
	}
	waiting := waitingFor(at.Object, at)
	waiting.Begins = true
	h.arrival = f.ledger.Arrive(inflight.Event, waiting, grant)
}

// stopAtQueue makes an event that was held wait for a step, before it is added to the informer's queue.
func (f *flow) stopAtQueue(in any) {
	if !f.ledger.StagesPaused() {
		return
	}
	f.mu.Lock()
	stops := f.stepped != nil && f.frames == 1 && f.initialFrames+len(f.changes) == 0
	f.mu.Unlock()
	if obj, ok := in.(runtime.Object); ok && stops {
		// The hold ends before the cluster does.
		f.ledger.StopAt(context.Background(), inflight.Event, waitingFor(obj, Delivery{Queue: true, Object: obj, Behind: f.behind}))
	}
}

// behind returns how many frames wait behind the one that has arrived or is being stored.
func (f *flow) behind() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stepped == nil {
		return 0
	}
	n := len(f.stepped.frames)
	if f.stepped.arrival != nil {
		n-- // itself
	}
	return n
}

// waitingFor names a stop after an object.
func waitingFor(obj runtime.Object, detail Delivery) inflight.Waiting {
	at := inflight.Waiting{Kind: inflight.Event, Name: "informer", Detail: detail}
	if o, ok := obj.(metav1.Object); ok {
		at.Key = o.GetNamespace() + "/" + o.GetName()
	}
	return at
}

// StopHandler implements inflight.Source.
func (i *informer) StopHandler(obj any, at inflight.Waiting) { i.flow.stopHandler(obj, at) }

func (f *flow) stopHandler(obj any, at inflight.Waiting) {
	f.mu.Lock()
	c := f.changes[obj]
	// Changes behind this one would be in flight without end.
	if c == nil || c.listed || f.frames+f.initialFrames > 0 || len(f.changes) != 1 {
		f.mu.Unlock()
		return
	}
	passed := make(chan struct{})
	arrival := f.ledger.Arrive(inflight.Event, at, func() { close(passed) })
	c.stopped++
	f.pauseLocked(c)
	f.mu.Unlock()
	<-passed
	f.mu.Lock()
	c.stopped--
	f.pauseLocked(c)
	f.mu.Unlock()
	arrival.End()
}

// pauseLocked stops counting a change while all its handlers that have not returned wait for steps, which are counted themselves.
func (f *flow) pauseLocked(c *change) {
	pause := !c.gone && c.stopped > 0 && c.stopped == c.waiting
	switch {
	case pause == c.paused:
	case pause:
		f.counted.Add(-1)
	case !c.gone:
		f.counted.Add(1)
	}
	c.paused = pause
}

// doneLocked ends the count of a change.
func (f *flow) doneLocked(c *change) {
	f.admitLocked() // it begins before this ends
	if !c.paused {
		f.counted.Add(-1)
	}
	c.gone = true
}
