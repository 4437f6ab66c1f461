package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// maxUntold is less than the 128 that fit into the channel of an etcd watcher.
const maxUntold = 100

// hub follows one etcd watcher over all keys and hands its events to the watches
// of a store. Because that watcher sees every revision, the hub knows at any time
// how far each watch is, so that progress needs no question to etcd; and a watch
// that begins in the past, or that has fallen behind, reads the history itself
// and joins in without the pauses that etcd makes for its own slow watchers.
type hub struct {
	kv      mvcc.WatchableKV
	backend backend.Backend
	stream  mvcc.WatchStream
	failure *failure
	// settle returns when what etcd is applying has been applied.
	settle func(context.Context) error

	// untold has an element for each write that has begun and that the hub has
	// not handed out yet. When more of them come than fit into the channel that
	// etcd tells its watchers by, it makes a watcher wait for a tenth of a second;
	// so no more than that are let in.
	untold chan struct{}

	stop  chan struct{} // closed by close
	ended sync.WaitGroup

	// rev is the revision up to which every event has been handed out. It is
	// written under mu.
	rev atomic.Int64

	mu      sync.Mutex
	watches map[*hubWatch]struct{}
	closed  bool
}

// newHub starts following kv. Nothing may be written to kv until it returns.
func newHub(server *etcdserver.EtcdServer, f *failure) (*hub, error) {
	kv := server.KV()
	h := &hub{
		kv: kv, backend: server.Backend(), failure: f, settle: server.LinearizableReadNotify,
		stream:  kv.NewWatchStream(),
		untold:  make(chan struct{}, maxUntold),
		stop:    make(chan struct{}),
		watches: map[*hubWatch]struct{}{},
	}
	h.rev.Store(kv.Rev())
	if _, err := h.stream.Watch(context.Background(), 0, []byte{0}, []byte{}, h.rev.Load()+1); err != nil {
		h.stream.Close()
		return nil, fmt.Errorf("watching all keys: %w", err)
	}
	h.ended.Add(1)
	go h.run()
	return h, nil
}

// begin lets a write in. It is ended by the hub, when the write's event has been
// handed out, or by end, when there will be none.
func (h *hub) begin(ctx context.Context) error {
	select {
	case h.untold <- struct{}{}:
		return nil
	default:
	}
	select {
	case h.untold <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.failure.happened:
		return &UnavailableError{Err: h.failure.get()}
	}
}

// end takes back n begins. Of a write that failed nobody knows whether an event
// will come: it may be taken back twice, and there may be nothing left to take.
func (h *hub) end(n int) {
	for range n {
		select {
		case <-h.untold:
		default:
			return
		}
	}
}

// run ends when the stream is closed.
func (h *hub) run() {
	defer h.ended.Done()
	for response := range h.stream.Chan() {
		if len(response.Events) > 0 {
			h.dispatch(response.Events)
			h.end(len(response.Events))
		}
	}
}

// dispatch hands out the events of one or more whole revisions.
func (h *hub) dispatch(events []*mvccpb.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, event := range events {
		key := string(event.Kv.Key)
		var converted *Event
		var err error
		for w := range h.watches {
			if !w.live || event.Kv.ModRevision < w.from || !strings.HasPrefix(key, w.prefix) {
				continue
			}
			if converted == nil {
				converted, err = h.convert(key, event)
			}
			w.add(converted, err)
		}
	}
	h.rev.Store(events[len(events)-1].Kv.ModRevision)
	for w := range h.watches {
		w.flush()
	}
}

// convert looks up the state before the event, which etcd does not keep with it.
func (h *hub) convert(key string, event *mvccpb.Event) (*Event, error) {
	converted := &Event{KeyValue: KeyValue{
		Key: key, Value: event.Kv.Value,
		CreateRevision: event.Kv.CreateRevision, ModRevision: event.Kv.ModRevision,
	}}
	if event.Type == mvccpb.Event_DELETE {
		converted.Type = Delete
	} else if event.Kv.CreateRevision == event.Kv.ModRevision {
		return converted, nil
	}
	previous, err := readPrevious(h.kv, event.Kv.Key, event.Kv.ModRevision)
	converted.Previous = previous
	return converted, err
}

// watch registers a watch from the revision from on, or from now on if it is 0.
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
	h.watches[w] = struct{}{}
	h.ended.Add(1)
	go w.run(ctx)
	return w, nil
}

// requestProgress asks every watch whose prefix begins with this one for a progress
// batch at or after the newest revision.
func (h *hub) requestProgress(prefix string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	newest := max(h.kv.Rev(), h.rev.Load())
	for w := range h.watches {
		if !strings.HasPrefix(w.prefix, prefix) {
			continue
		}
		// Progress before the first revision wanted would say nothing, and make
		// its receiver resume too early.
		w.progress = max(newest, w.from-1)
		w.flush()
	}
}

func (h *hub) revision() int64 { return h.rev.Load() }

// close ends all watches and waits for their end.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	close(h.stop)
	h.stream.Close()
	h.ended.Wait()
}
