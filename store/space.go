package store

import (
	"context"
	"errors"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// space keeps the database of an embedded etcd below its quota. etcd counts the
// file's size, which no compaction makes smaller, and once it has run out of space it
// refuses writes until an operator has made some and said so. Here nobody operates.
type space struct {
	server  *etcdserver.EtcdServer
	failure *failure
	quota   int64

	// start begins to make space, beside what goes on. cancel ends that.
	start  func()
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// mending is held by who makes the file smaller and, for reading, by who copies
	// it: the copy would be waited for with all reads and writes held up.
	mending sync.RWMutex

	mu      sync.Mutex
	closed  bool
	running bool
}

func newSpace(server *etcdserver.EtcdServer, f *failure) *space {
	s := &space{server: server, failure: f, quota: server.Cfg.QuotaBackendBytes}
	ctx, cancel := context.WithCancel(context.Background())
	s.start, s.cancel = func() { s.ended.Go(func() { s.exhaustedBeside(ctx) }) }, cancel
	return s
}

// compact forgets the history before revision, and makes the file smaller if it has
// come near the quota and half of it is free.
func (s *space) compact(ctx context.Context, revision int64) error {
	s.mending.Lock()
	defer s.mending.Unlock()
	// The sizes are those of the last commit, which writes in a burst leave behind.
	s.server.KV().Commit()
	// The pages are free only when the compaction has been done physically.
	_, err := s.server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: s.near()})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return err
	}
	if s.near() && s.used() <= s.server.Backend().Size()/2 {
		if err := s.server.Defragment(); err != nil {
			return err
		}
	}
	return s.disarm(ctx)
}

// near reports whether half of the quota is taken by the file.
func (s *space) near() bool { return s.server.Backend().Size() >= s.quota/2 }

// used is how much of the file is not free.
func (s *space) used() int64 { return s.server.Backend().SizeInUse() }

// disarm lets writes in again if there is room for them.
func (s *space) disarm(ctx context.Context) error {
	if s.server.Backend().Size() >= s.quota-s.quota/10 {
		return nil
	}
	for _, alarm := range s.server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, Alarm: alarm.Alarm, MemberID: alarm.MemberID}
		if _, err := s.server.Alarm(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// exhausted begins to make space, unless that is being done. Writes that come
// meanwhile are refused.
func (s *space) exhausted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running {
		return
	}
	s.running = true
	s.start()
}

// exhaustedBeside makes space and then lets exhausted begin again.
func (s *space) exhaustedBeside(ctx context.Context) {
	defer s.failure.recover()
	s.reclaim(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// reclaim forgets all history. What cannot be done now is tried again with the next
// write that is refused.
func (s *space) reclaim(ctx context.Context) {
	s.mending.Lock()
	defer s.mending.Unlock()
	newest := s.server.KV().Rev()
	_, err := s.server.Compact(ctx, &pb.CompactionRequest{Revision: newest, Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return
	}
	// With little to gain it would be done anew at every write that is refused. What
	// the compaction has just freed, the database does not count as free before
	// something else is written.
	if free := s.server.Backend().Size() - s.used(); err == nil || free >= s.quota/10 {
		if err := s.server.Defragment(); err != nil {
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
