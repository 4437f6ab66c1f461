package store

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// Get implements Store.
func (s *Embedded) Get(ctx context.Context, key string, revision int64) (*KeyValue, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("getting %q: %w", key, err)
	}
	defer s.inFlight.RUnlock()
	// The shared buffer mode holds a lock for the microseconds of one lookup; the
	// concurrent mode copies everything written since the last commit.
	result, err := s.read(ctx, mvcc.SharedBufReadTxMode, []byte(key), nil, mvcc.RangeOptions{Rev: revision})
	if err != nil {
		return nil, fmt.Errorf("getting %q: %w", key, err)
	}
	if len(result.KVs) == 0 {
		return nil, fmt.Errorf("getting %q: %w", key, ErrNotFound)
	}
	kv := fromProto(result.KVs[0])
	return &kv, nil
}

// List implements Store.
func (s *Embedded) List(ctx context.Context, prefix string, opts ListOptions) (*ListResult, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("listing %q: %w", prefix, err)
	}
	defer s.inFlight.RUnlock()
	start, end := listRange(prefix, opts.From)
	result, err := s.read(ctx, mvcc.ConcurrentReadTxMode, start, end, mvcc.RangeOptions{
		Rev: opts.Revision, Limit: opts.Limit, FastKeysOnly: opts.KeysOnly, WithTotalCount: true,
	})
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", prefix, err)
	}
	list := &ListResult{Revision: result.Rev, Count: int64(result.Count)}
	if opts.Revision > 0 {
		list.Revision = opts.Revision
	}
	list.KeyValues = make([]KeyValue, len(result.KVs))
	for i, kv := range result.KVs {
		list.KeyValues[i] = fromProto(kv)
	}
	return list, nil
}

// read reads the applied state, and never a state older than an event that the hub has
// delivered. etcd notifies watchers of a revision shortly before that revision can be
// read:
//
//	T1 etcd applies revision 7 and notifies the hub; a reader of the store sees the event of revision 7
//	T2 that reader calls Get; a read transaction of etcd is still at revision 6
//	T3 read finds 6 < 7, waits until etcd has finished applying, and reads again, at revision 7
//
// Without the wait, T2 would return the state before the event.
func (s *Embedded) read(ctx context.Context, mode mvcc.ReadTxMode, start, end []byte, opts mvcc.RangeOptions) (*mvcc.RangeResult, error) {
	seen := s.hub.revision()
	for {
		txn := s.kv.Read(mode, traceutil.TODO())
		if txn.Rev() < seen {
			txn.End()
			if err := s.engine.settle(ctx); err != nil {
				return nil, s.failed(ctx, err)
			}
			continue
		}
		result, err := txn.Range(ctx, start, end, opts)
		newest, compacted := txn.Rev(), txn.FirstRev()
		txn.End()
		switch {
		case errors.Is(err, mvcc.ErrFutureRev):
			return nil, &FutureRevisionError{Current: newest}
		case errors.Is(err, mvcc.ErrCompacted):
			return nil, &CompactedError{Compacted: compacted}
		case err != nil:
			return nil, s.failed(ctx, err)
		}
		return result, nil
	}
}

// Put implements Store.
func (s *Embedded) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	revision, err := s.write(ctx, change{kind: Put, key: key, value: value, expected: expected})
	if err != nil {
		return 0, fmt.Errorf("putting %q: %w", key, err)
	}
	return revision, nil
}

// Delete implements Store.
func (s *Embedded) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	revision, err := s.write(ctx, change{kind: Delete, key: key, expected: expected})
	if err != nil {
		return 0, fmt.Errorf("deleting %q: %w", key, err)
	}
	return revision, nil
}

func (s *Embedded) write(ctx context.Context, c change) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.inFlight.RUnlock()
	if err := checkKey(c.key); err != nil {
		return 0, err
	}
	c.guards = GuardsOf(ctx)
	revision, err := s.engine.write(ctx, &c)
	switch err.(type) {
	case nil, *ConflictError, *GuardError:
		return revision, err
	}
	return 0, s.failed(ctx, err)
}

// Revision implements Store.
func (s *Embedded) Revision(ctx context.Context) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("reading the newest revision: %w", err)
	}
	defer s.inFlight.RUnlock()
	return max(s.kv.Rev(), s.hub.revision()), nil
}

// Compact implements Store.
func (s *Embedded) Compact(ctx context.Context, revision int64) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("compacting to revision %d: %w", revision, err)
	}
	defer s.inFlight.RUnlock()
	err := s.space.compact(ctx, revision)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mvcc.ErrFutureRev):
		err = &FutureRevisionError{Current: s.kv.Rev()}
	default:
		err = s.failed(ctx, err)
	}
	return fmt.Errorf("compacting to revision %d: %w", revision, err)
}

// Watch implements Store.
func (s *Embedded) Watch(ctx context.Context, prefix string, from int64) (Watch, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("watching %q: %w", prefix, err)
	}
	defer s.inFlight.RUnlock()
	w, err := s.hub.watch(ctx, prefix, from)
	if err != nil {
		return nil, fmt.Errorf("watching %q: %w", prefix, err)
	}
	return w, nil
}

// RequestProgress implements Store.
func (s *Embedded) RequestProgress(ctx context.Context, prefix string) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("requesting progress: %w", err)
	}
	defer s.inFlight.RUnlock()
	s.hub.requestProgress(prefix)
	return nil
}

// enter begins an operation. The caller ends it with s.inFlight.RUnlock.
func (s *Embedded) enter(ctx context.Context) error {
	s.inFlight.RLock()
	err := s.usable(ctx)
	if err != nil {
		s.inFlight.RUnlock()
	}
	return err
}

// usable returns the reason why the store accepts no operations, or nil.
func (s *Embedded) usable(ctx context.Context) error {
	if s.closed.Load() {
		return &UnavailableError{Err: ErrClosed}
	}
	if err := s.failure.get(); err != nil {
		return &UnavailableError{Err: err}
	}
	return ctx.Err()
}

// failed converts an error of etcd to one of the store's.
func (s *Embedded) failed(ctx context.Context, err error) error {
	if broken := s.usable(ctx); broken != nil {
		return broken
	}
	switch {
	case errors.Is(err, etcderrors.ErrRequestTooLarge):
		return ErrTooLarge
	case errors.Is(err, etcderrors.ErrNoSpace):
		s.space.exhausted()
		return &UnavailableError{Err: ErrNoSpace}
	}
	return &UnavailableError{Err: err}
}

func fromProto(kv *mvccpb.KeyValue) KeyValue {
	return KeyValue{Key: string(kv.Key), Value: kv.Value, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision}
}
