package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
)

// progressRetry is the interval at which a progress request is repeated. etcd ignores
// the request while a watch of the stream is behind.
const progressRetry = 50 * time.Millisecond

// etcdWatch converts a watch of etcd's client to one of the store. Each has its own
// stream, because etcd reports progress per stream, and only while none of the stream's
// watches is behind.
type etcdWatch struct {
	store   *Etcd
	prefix  string
	changes clientv3.WatchChan
	wanted  chan int64 // revision of the newest progress request
	batches chan Batch
	err     error // set before batches is closed

	reached int64 // everything up to this revision has been put into batches
	pending int64 // revision of the progress to deliver; 0: none
}

// Batches implements Watch.
func (w *etcdWatch) Batches() <-chan Batch { return w.batches }

// Err implements Watch.
func (w *etcdWatch) Err() error { return w.err }

// Watch implements Store.
func (s *Etcd) Watch(ctx context.Context, prefix string, from int64) (Watch, error) {
	w := &etcdWatch{store: s, prefix: prefix, wanted: make(chan int64, 1), batches: make(chan Batch, 1)}
	streamCtx, cancel, err := s.register(ctx, w)
	if err == nil {
		if err = w.open(ctx, streamCtx, from); err == nil {
			go w.run(ctx, streamCtx, cancel)
			return w, nil
		}
		cancel()
		s.unregister(w)
	}
	return nil, fmt.Errorf("watching %q: %w", prefix, err)
}

// register adds w to the open watches and returns the context of its stream, which ends
// with ctx and with the store.
func (s *Etcd) register(ctx context.Context, w *etcdWatch) (context.Context, context.CancelFunc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, &UnavailableError{Err: ErrClosed}
	}
	s.ended.Add(1)
	s.opened++
	// The client shares a stream between watches whose metadata are equal.
	streamCtx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(
		clientv3.WithRequireLeader(ctx), "minikcm-watch", strconv.FormatInt(s.opened, 10)))
	s.watches[w] = cancel
	return streamCtx, cancel, nil
}

func (s *Etcd) unregister(w *etcdWatch) {
	s.mu.Lock()
	delete(s.watches, w)
	s.mu.Unlock()
	s.ended.Done()
}

// open returns once etcd has registered the watch. It resolves from = 0 to a revision
// first: if the connection breaks before the first event, etcd's client resumes a watch
// without a revision at the revision that is then newest, and events would be lost.
func (w *etcdWatch) open(ctx, streamCtx context.Context, from int64) error {
	if from == 0 {
		newest, err := w.store.Revision(ctx)
		if err != nil {
			return err
		}
		from = newest + 1
	} else if err := w.store.readable(ctx, from-1); err != nil {
		return err
	}
	w.reached = from - 1
	start, end := wireRange(w.prefix, "")
	w.changes = w.store.client.Watch(streamCtx, string(start), clientv3.WithRange(string(end)),
		clientv3.WithRev(from), clientv3.WithFragment(), clientv3.WithCreatedNotify())
	select {
	case response := <-w.changes:
		if !response.Created {
			return w.ending(ctx, response)
		}
		return nil
	case <-streamCtx.Done():
		return w.ending(ctx, clientv3.WatchResponse{})
	}
}

// readable returns a *CompactedError if the state at revision is compacted. The check is needed
// because etcd accepts a watch from exactly the compacted revision, although some of its events may
// be gone.
func (s *Etcd) readable(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	_, err := s.read(ctx, &pb.RangeRequest{Key: []byte{0}, CountOnly: true, Revision: revision})
	if future := (*FutureRevisionError)(nil); errors.As(err, &future) {
		return nil
	}
	return err
}

// run delivers batches until the watch ends.
func (w *etcdWatch) run(ctx, streamCtx context.Context, cancel context.CancelFunc) {
	defer w.store.unregister(w)
	defer close(w.batches)
	defer cancel()
	retry := clock.Real().NewTimer(progressRetry)
	defer retry.Stop()
	for {
		batch, err := w.next(ctx, streamCtx, retry)
		if err != nil || batch == nil {
			w.err = err
			return
		}
		if batch.Revision == 0 {
			continue
		}
		select {
		case w.batches <- *batch:
			w.reached = batch.Revision
		case <-streamCtx.Done():
			w.err = w.ending(ctx, clientv3.WatchResponse{})
			return
		}
	}
}

// next returns the next batch, an empty one if there is none yet, or nil at a regular
// end.
func (w *etcdWatch) next(ctx, streamCtx context.Context, retry utilclock.Timer) (*Batch, error) {
	if w.pending > 0 && w.reached >= w.pending {
		w.pending = 0
		return &Batch{Revision: w.reached}, nil
	}
	select {
	case response, ok := <-w.changes:
		if !ok || response.Err() != nil {
			return nil, w.ending(ctx, response)
		}
		return w.convert(&response)
	case revision := <-w.wanted:
		w.pending = max(w.pending, revision)
	case <-retry.C():
	}
	if w.pending > w.reached {
		// An error means that the stream is ending; changes then delivers the reason.
		_ = w.store.client.RequestProgress(streamCtx)
		retry.Reset(progressRetry)
	}
	return &Batch{}, nil
}

// convert makes a batch from a response, which contains events of whole revisions.
func (w *etcdWatch) convert(response *clientv3.WatchResponse) (*Batch, error) {
	if response.IsProgressNotify() {
		// Progress before the first revision of the watch contains no news.
		if response.Header.Revision <= w.reached {
			return &Batch{}, nil
		}
		if w.pending > 0 && response.Header.Revision >= w.pending {
			w.pending = 0
		}
		return &Batch{Revision: response.Header.Revision}, nil
	}
	if len(response.Events) == 0 {
		return &Batch{}, nil
	}
	batch := &Batch{Events: make([]Event, len(response.Events))}
	for i, event := range response.Events {
		converted := &batch.Events[i]
		converted.KeyValue = fromProto((*mvccpb.KeyValue)(event.Kv))
		batch.Revision = converted.KeyValue.ModRevision
		if event.Type == mvccpb.Event_DELETE {
			converted.Type = Delete
		}
	}
	return batch, nil
}

// ending returns why a watch has ended, given its last response.
func (w *etcdWatch) ending(ctx context.Context, response clientv3.WatchResponse) error {
	switch err := response.Err(); {
	case w.store.usable() != nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case response.CompactRevision > 0:
		return &CompactedError{Compacted: response.CompactRevision}
	case err != nil:
		return &UnavailableError{Err: err}
	default:
		return &UnavailableError{Err: errors.New("etcd's client ended the watch")}
	}
}

// RequestProgress implements Store.
func (s *Etcd) RequestProgress(ctx context.Context, prefix string) error {
	newest, err := s.Revision(ctx)
	if err != nil {
		return fmt.Errorf("requesting progress: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if !strings.HasPrefix(w.prefix, prefix) {
			continue
		}
		wanted := newest
		select {
		case previous := <-w.wanted:
			wanted = max(wanted, previous)
		default:
		}
		w.wanted <- wanted
	}
	return nil
}
