package store

import (
	"context"
	"errors"
	"sync"

	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// space keeps the database of an embedded etcd below its quota. etcd counts the file's
// size, which compaction does not reduce, and a server out of space refuses writes
// until an operator has compacted, defragmented and disarmed its alarm. space does that
// without an operator.
type space struct {
	engine  engine
	failure *failure
	quota   int64

	// start starts reclaiming space in a goroutine. cancel ends it.
	start  func()
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// fileMu is held while the file is defragmented and read-locked while it is
	// copied. Defragmenting waits for open read transactions and blocks all reads and
	// writes meanwhile, so it must not start during a copy.
	fileMu sync.RWMutex

	mu      sync.Mutex
	closed  bool
	running bool
}

func newSpace(e engine, quota int64, f *failure) *space {
	s := &space{engine: e, failure: f, quota: quota}
	ctx, cancel := context.WithCancel(context.Background())
	s.start, s.cancel = func() { s.ended.Go(func() { s.reclaimInBackground(ctx) }) }, cancel
	return s
}

// compact compacts the history before revision. It defragments the file if it takes
// half of the quota and half of it is free.
func (s *space) compact(ctx context.Context, revision int64) error {
	s.fileMu.Lock()
	defer s.fileMu.Unlock()
	// The sizes date from the last commit, which lags behind a burst of writes.
	s.engine.kv().Commit()
	// Only a physical compaction has freed the pages when it returns.
	err := s.engine.compact(ctx, revision, s.near())
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return err
	}
	if s.near() && s.used() <= s.engine.backend().Size()/2 {
		if err := s.engine.defragment(); err != nil {
			return err
		}
	}
	return s.disarm(ctx)
}

// near reports whether the file takes half of the quota.
func (s *space) near() bool { return s.engine.backend().Size() >= s.quota/2 }

// used returns the bytes of the file that are not free.
func (s *space) used() int64 { return s.engine.backend().SizeInUse() }

// disarm lets writes happen again if there is room for them.
func (s *space) disarm(ctx context.Context) error {
	if s.engine.backend().Size() >= s.quota-s.quota/10 {
		return nil
	}
	return s.engine.disarm(ctx)
}

// exhausted starts reclaiming space unless that is running already. Writes fail until
// it is done.
func (s *space) exhausted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running {
		return
	}
	s.running = true
	s.start()
}

// reclaimInBackground reclaims space and then lets exhausted start again.
func (s *space) reclaimInBackground(ctx context.Context) {
	defer s.failure.recover()
	s.reclaim(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// reclaim compacts all history and defragments. After an error, the next write that
// fails for lack of space tries again.
func (s *space) reclaim(ctx context.Context) {
	s.fileMu.Lock()
	defer s.fileMu.Unlock()
	newest := s.engine.kv().Rev()
	err := s.engine.compact(ctx, newest, true)
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return
	}
	// Defragment only if that is worthwhile, or every refused write would repeat it.
	// Right after a compaction the test does not apply: the database counts the pages
	// it freed only after the next write.
	if free := s.engine.backend().Size() - s.used(); err == nil || free >= s.quota/10 {
		if err := s.engine.defragment(); err != nil {
			return
		}
	}
	_ = s.disarm(ctx)
}

func (s *space) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.ended.Wait()
}
