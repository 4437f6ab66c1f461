package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// maxInFlight is below the capacity (128) of an etcd watcher's channel.
const maxInFlight = 100

// hub dispatches the events of all keys to the watches of a store: the events of one etcd watcher (follow), or the
// events that a direct engine passes on itself (deliver). Because the hub sees every revision, it knows how far each
// watch has got, and answers progress requests without asking etcd. A watch that starts in the
// past, or that has fallen behind, reads the history itself and then joins the live
// events, without the delays that etcd imposes on its own slow watchers.
type hub struct {
	kv      mvcc.WatchableKV
	backend backend.Backend
	stream  mvcc.WatchStream // nil without follow
	failure *failure
	// settle returns when etcd has applied the writes that it is applying.
	settle func(context.Context) error

	// writes limits the writes in flight: it has one element for each write that has
	// begun and whose event the hub has not dispatched. When more events arrive than
	// the channel of an etcd watcher holds, etcd moves the watcher to a loop that runs
	// every 100 ms; the limit prevents that.
	writes chan struct{}

	stop  chan struct{} // closed by close
	ended sync.WaitGroup

	// rev is the revision up to which all events have been dispatched. It is written
	// under mu.
	rev atomic.Int64

	mu      sync.Mutex
	watches []*hubWatch
	closed  bool
}

// newHub returns a hub, which gets its events from follow or from deliver. The caller must not
// write before one of them is in place.
func newHub(e engine, f *failure) *hub {
	h := &hub{
		kv: e.kv(), backend: e.backend(), failure: f, settle: e.settle,
		writes: make(chan struct{}, maxInFlight),
		stop:   make(chan struct{}),
	}
	h.rev.Store(h.kv.Rev())
	return h
}

// follow starts a watcher of etcd, whose events run dispatches.
func (h *hub) follow() error {
	h.stream = h.kv.NewWatchStream()
	if _, err := h.stream.Watch(context.Background(), 0, []byte{0}, []byte{}, h.rev.Load()+1); err != nil {
		return fmt.Errorf("watching all keys: %w", err)
	}
	h.ended.Add(1)
	go h.run()
	return nil
}

// begin admits a write, and waits while maxInFlight are in flight. The hub releases the
// slot when it dispatches the write's event; the caller releases it with end if there
// will be no event.
func (h *hub) begin(ctx context.Context) error {
	select {
	case h.writes <- struct{}{}:
		return nil
	default:
	}
	select {
	case h.writes <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.failure.happened:
		return &UnavailableError{Err: h.failure.get()}
	}
}

// end releases n slots. The outcome of a failed write is unknown: if it was made after
// all, its slot is released twice, so end stops when no slot is taken.
func (h *hub) end(n int) {
	for range n {
		select {
		case <-h.writes:
		default:
			return
		}
	}
}

// run dispatches events until the stream is closed.
func (h *hub) run() {
	defer h.ended.Done()
	for response := range h.stream.Chan() {
		if len(response.Events) > 0 {
			h.dispatch(response.Events)
			h.end(len(response.Events))
		}
	}
}

// dispatch delivers the events of one or more whole revisions to the watches.
func (h *hub) dispatch(events []*mvccpb.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, event := range events {
		key := string(event.Kv.Key)
		var converted *Event
		for _, w := range h.watches {
			if !w.wants(key, event.Kv.ModRevision) {
				continue
			}
			if converted == nil {
				converted = convert(key, event)
			}
			w.add(converted)
		}
	}
	h.rev.Store(events[len(events)-1].Kv.ModRevision)
	for _, w := range h.watches {
		w.flush()
	}
}

// deliver delivers the events of revisions that can be read to the watches.
func (h *hub) deliver(events []*Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, event := range events {
		for _, w := range h.watches {
			if w.wants(event.KeyValue.Key, event.KeyValue.ModRevision) {
				w.add(event)
			}
		}
	}
	h.rev.Store(events[len(events)-1].KeyValue.ModRevision)
	for _, w := range h.watches {
		w.flush()
	}
}

// convert converts an etcd event.
func convert(key string, event *mvccpb.Event) *Event {
	converted := &Event{KeyValue: KeyValue{
		Key: key, Value: event.Kv.Value,
		CreateRevision: event.Kv.CreateRevision, ModRevision: event.Kv.ModRevision,
	}}
	if event.Type == mvccpb.Event_DELETE {
		converted.Type = Delete
	}
	return converted
}

// watch registers a watch from revision from, or from now on if from is 0.
func (h *hub) watch(ctx context.Context, prefix string, from int64) (*hubWatch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, &UnavailableError{Err: ErrClosed}
	}
	if oldest := h.kv.FirstRev(); from > 0 && from <= oldest {
		return nil, &CompactedError{Compacted: oldest}
	}
	w := &hubWatch{
		hub: h, prefix: prefix, from: from, next: from,
		batches: make(chan Batch, 1),
		wake:    make(chan struct{}, 1),
	}
	if from == 0 {
		w.from = max(h.kv.Rev(), h.rev.Load()) + 1
	}
	w.live = w.from > h.rev.Load()
	h.watches = append(h.watches, w)
	h.ended.Add(1)
	go w.run(ctx)
	return w, nil
}

// requestProgress requests a progress batch, at or after the newest revision, from
// every watch whose prefix begins with prefix.
func (h *hub) requestProgress(prefix string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	newest := max(h.kv.Rev(), h.rev.Load())
	for _, w := range h.watches {
		if !strings.HasPrefix(w.prefix, prefix) {
			continue
		}
		// Progress below w.from-1 would make the receiver resume before the first
		// revision it asked for.
		w.progress = max(newest, w.from-1)
		w.flush()
	}
}

func (h *hub) revision() int64 { return h.rev.Load() }

// close ends all watches and waits for their goroutines.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	close(h.stop)
	if h.stream != nil {
		h.stream.Close()
	}
	h.ended.Wait()
}
