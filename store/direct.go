package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/coreos/go-semver/semver"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// maxGroup caps the writes whose events are delivered together.
const maxGroup = 64

// settlingCommits is the number of commits of settleSize.
const settlingCommits = 4

// writeOverhead is etcd's estimate of the bytes that a key takes in the database beside itself
// and its value.
const writeOverhead = 256

// direct is etcd's storage without its server: the database, the revisions and their index. It
// has no raft log, which only serves to restore the storage of a process that has ended.
//
// One goroutine applies all writes, and passes their events on to the watches before it
// answers: the events of all waiting writes at once, so that a watch is woken once for them. It is
// not the caller's goroutine, because etcd's storage ends the goroutine in which it finds
// that it cannot continue (see failure).
type direct struct {
	store    mvcc.WatchableKV
	database backend.Backend
	quota    int64
	failure  *failure
	// deliver gets the events in the order of their revisions. It is set before the first write.
	deliver func([]*Event)
	// trace is a trace whose steps are disabled while run works: etcd would note several for each write.
	trace *traceutil.Trace

	writes chan *writing
	stop   chan struct{} // closed by close
	ended  sync.WaitGroup
}

// writing is a change on its way through the goroutine that applies it.
type writing struct {
	change   change
	done     chan struct{} // gets a value when the fields below are set
	revision int64
	err      error
}

// writings keeps the values whose callers have got their answers.
var writings = sync.Pool{New: func() any { return &writing{done: make(chan struct{}, 1)} }}

// startDirect opens the database in dir, which may come from a restored snapshot.
func startDirect(dir string, quota int64, lg *zap.Logger, f *failure) (*direct, error) {
	path := filesOf(dir).database
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the database: %w", err)
	}
	return unlessFailed(f, func() (*direct, error) {
		cfg := backend.DefaultBackendConfig(lg)
		cfg.Path, cfg.UnsafeNoFsync, cfg.BackendFreelistType = path, true, bolt.FreelistMapType
		cfg.MmapSize = uint64(quota + quota/10) // as etcd's server: beyond the quota only until it is noticed
		d := &direct{database: backend.New(cfg), quota: quota, failure: f, trace: traceutil.TODO(), writes: make(chan *writing), stop: make(chan struct{})}
		if err := d.prepare(lg); err != nil {
			return nil, errors.Join(err, d.database.Close())
		}
		d.store = mvcc.New(lg, d.database, &lease.FakeLessor{}, mvcc.StoreConfig{})
		d.ended.Go(func() { d.trace.StepWithFunction(d.run, "applying writes") })
		return d, nil
	})
}

// prepare creates the buckets and records that etcd's server creates in a new database, so that a
// snapshot of it is one of etcd's, and refuses a database that this version of etcd does not know.
func (d *direct) prepare(lg *zap.Logger) error {
	schema.CreateMetaBucket(d.database.BatchTx())
	members := schema.NewMembershipBackend(lg, d.database)
	if members.ClusterVersionFromBackend() != nil {
		return schema.Validate(lg, d.database.ReadTx())
	}
	own := semver.New(version.Version)
	members.MustCreateBackendBuckets()
	members.MustSaveClusterVersionToBackend(&semver.Version{Major: own.Major, Minor: own.Minor})
	schema.NewAlarmBackend(lg, d.database).CreateAlarmBucket()
	schema.NewAuthBackend(lg, d.database).CreateAuthBuckets()
	tx := d.database.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafeCreateBucket(schema.Lease)
	schema.UnsafeUpdateConsistentIndex(tx, 1, 1)
	schema.UnsafeSetStorageVersion(tx, own)
	return nil
}

func (d *direct) kv() mvcc.WatchableKV { return d.store }

func (d *direct) backend() backend.Backend { return d.database }

// settle has nothing to wait for: an event is delivered when its revision can be read.
func (d *direct) settle(context.Context) error { return nil }

func (d *direct) write(ctx context.Context, c *change) (int64, error) {
	if c.size() > maxRequestBytes {
		return 0, etcderrors.ErrRequestTooLarge
	}
	w := writings.Get().(*writing)
	w.change = *c
	select {
	case d.writes <- w:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-d.failure.happened:
		return 0, d.failure.get()
	}
	select {
	case <-w.done:
	case <-d.failure.happened:
		return 0, d.failure.get() // w is still the other goroutine's
	}
	revision, err := w.revision, w.err
	w.change, w.err = change{}, nil
	writings.Put(w)
	return revision, err
}

// run applies writes until close.
func (d *direct) run() {
	defer d.failure.recover()
	var group []*writing
	var events []*Event
	for {
		select {
		case w := <-d.writes:
			group = d.gather(append(group, w))
		case <-d.stop:
			return
		}
		for _, w := range group {
			event, err := d.apply(&w.change)
			if w.err = err; err == nil {
				w.revision, events = event.KeyValue.ModRevision, append(events, event)
			}
		}
		if len(events) > 0 {
			d.deliver(events)
		}
		for _, w := range group {
			w.done <- struct{}{}
		}
		clear(group)
		clear(events)
		group, events = group[:0], events[:0]
	}
}

// gather adds the writes that are waiting to a group.
func (d *direct) gather(group []*writing) []*writing {
	for len(group) < maxGroup {
		select {
		case w := <-d.writes:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}

// apply makes one change, and returns its event. No other change is made meanwhile.
func (d *direct) apply(c *change) (*Event, error) {
	created, err := d.look(c)
	if err != nil {
		return nil, err
	}
	if c.kind == Put && d.database.Size()+int64(c.size()+writeOverhead) >= d.quota {
		return nil, etcderrors.ErrNoSpace
	}
	event := &Event{Type: c.kind, KeyValue: KeyValue{Key: c.key}}
	txn := d.store.Write(d.trace)
	if c.kind == Delete {
		_, event.KeyValue.ModRevision = txn.DeleteRange([]byte(c.key), nil)
	} else {
		if len(c.value) > 0 { // etcd returns an empty value as nil
			event.KeyValue.Value = c.value
		}
		event.KeyValue.ModRevision = txn.Put([]byte(c.key), c.value, lease.NoLease)
		event.KeyValue.CreateRevision = cmp.Or(created, event.KeyValue.ModRevision)
	}
	txn.End()
	return event, nil
}

// look returns the revision at which the change's key was created; 0 if it does not exist. The error is a *GuardError if one of
// the guards does not hold, or a *ConflictError.
func (d *direct) look(c *change) (created int64, err error) {
	txn := d.store.Read(mvcc.SharedBufReadTxMode, d.trace)
	defer txn.End()
	for _, guard := range c.guards {
		kv, err := lookUp(txn, guard.Key, true)
		if err != nil {
			return 0, err
		}
		if at := revisionOf(kv); at != guard.Revision {
			return 0, &GuardError{Guard: guard, Current: at}
		}
	}
	current, err := lookUp(txn, c.key, true)
	if err != nil {
		return 0, err
	}
	if !expectationHolds(c.kind, current, c.expected) {
		if current, err = lookUp(txn, c.key, false); err != nil {
			return 0, err
		}
		return 0, &ConflictError{Key: c.key, Current: current}
	}
	if current == nil {
		return 0, nil
	}
	return current.CreateRevision, nil
}

// lookUp returns the state of a key, without its value if only the revisions are wanted; nil if it does not exist.
func lookUp(txn mvcc.TxnRead, key string, revisions bool) (*KeyValue, error) {
	result, err := txn.Range(context.Background(), []byte(key), nil, mvcc.RangeOptions{FastKeysOnly: revisions})
	if err != nil || len(result.KVs) == 0 {
		return nil, err
	}
	kv := fromProto(result.KVs[0])
	return &kv, nil
}

func revisionOf(kv *KeyValue) int64 {
	if kv == nil {
		return 0
	}
	return kv.ModRevision
}

func (d *direct) compact(ctx context.Context, revision int64, physical bool) error {
	if physical {
		defer d.settleSize()
	}
	deleted, err := d.store.Compact(traceutil.TODO(), revision)
	if err != nil || !physical {
		return err
	}
	select {
	case <-deleted:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.failure.happened:
		return d.failure.get()
	}
	d.database.ForceCommit()
	return nil
}

// settleSize makes the size in use count the pages that the last commit has freed. bbolt counts
// them at the next commit that writes anything, and a store without space may write nothing more:
//
//	a compaction commits     its pages are free, and still count as used
//	a Put is refused         nothing is written: they count as used for good
//	space looks              so little seems to be free that it does not defragment
//
// etcd's server writes the index of the log's entry even for a refused request.
//
// The pages also count as used while a reader of the state before is open, and etcd's own ends in a goroutine some time after the
// commit. So a few commits follow.
func (d *direct) settleSize() {
	for range settlingCommits {
		tx := d.database.BatchTx()
		tx.LockOutsideApply()
		schema.UnsafeSetStorageVersion(tx, semver.New(version.Version))
		tx.Unlock()
		d.database.ForceCommit()
	}
}

func (d *direct) defragment() error { return d.database.Defrag() }

// disarm has nothing to do: each write is compared with the size of the database.
func (d *direct) disarm(context.Context) error { return nil }

func (d *direct) close() {
	close(d.stop)
	d.ended.Wait()
	if err := d.store.Close(); err != nil {
		d.failure.set(err)
	}
	if err := d.database.Close(); err != nil {
		d.failure.set(err)
	}
}
