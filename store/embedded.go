package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"k8s.io/klog/v2"
)

// EmbeddedOptions configure StartEmbedded. The zero value is an ephemeral store.
type EmbeddedOptions struct {
	// DataDir is the data directory, in etcd's layout, of a store that survives restarts; a
	// write is acknowledged after an fsync. Empty means an ephemeral store: it uses a
	// temporary directory, without fsync and without a raft log, and Close removes it.
	DataDir string
	// QuotaBytes limits the size of the database. Beyond it, writes fail with ErrNoSpace in
	// an UnavailableError while the store compacts all history and defragments the
	// database; writes succeed again once that has freed enough. 0 means 8 GiB.
	QuotaBytes int64
	// Snapshot is the path of an etcd snapshot that an ephemeral store starts from. For a
	// data directory use RestoreSnapshot.
	Snapshot string
	// RevisionBump raises the first revision of an ephemeral store, as
	// RestoreOptions.RevisionBump does: clients that resume from revisions of an earlier
	// store, which were lower, get a CompactedError and list again.
	RevisionBump uint64
	// Logger receives etcd's log messages at level warning and above. The zero value
	// discards them.
	Logger klog.Logger
}

// InUseError is returned for a data directory that another store has open.
type InUseError struct{ DataDir string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("data directory %s is in use by another process", e.DataDir)
}

// Embedded is an etcd in this process, with no listener. With a data directory it is a server of one
// member, and writes go through its raft log as any client's would; an ephemeral store is etcd's
// storage without that log. Reads and watches use the applied state directly. Such reads are linearizable: this process is the only client of the only
// member, and a write is acknowledged after it is applied, so the applied state includes
// every acknowledged write.
type Embedded struct {
	engine  engine // nil if it could not be started
	kv      mvcc.WatchableKV
	hub     *hub
	failure *failure
	space   *space
	cleanup []func() error

	closeOnce sync.Once
	closeErr  error
	closed    atomic.Bool
	// inFlight is read-locked by every operation. Close takes the write lock, so etcd does
	// not unmap the database while an operation reads it.
	inFlight sync.RWMutex
}

// StartEmbedded starts an etcd in this process and returns once it accepts writes. It opens
// no port and no socket. Any number of stores may be open at a time, but only one per
// DataDir, across processes. A damaged or unreadable directory is an error and is not
// changed.
func StartEmbedded(ctx context.Context, opts EmbeddedOptions) (*Embedded, error) {
	s := &Embedded{failure: newFailure()}
	if err := s.open(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Embedded) open(ctx context.Context, opts EmbeddedOptions) error {
	if opts.DataDir != "" && (opts.Snapshot != "" || opts.RevisionBump > 0) {
		return errors.New("a data directory does not begin with a snapshot or a later revision: restore the snapshot to it first")
	}
	dir, err := s.takeDir(opts.DataDir)
	if err != nil {
		return err
	}
	if err := fill(ctx, dir, opts); err != nil {
		return err
	}
	if err := s.start(ctx, dir, opts); err != nil {
		return fmt.Errorf("starting the embedded etcd on %s: %w%s", dir, err, noRoom(dir))
	}
	return nil
}

// start starts the engine and the hub that follows it.
func (s *Embedded) start(ctx context.Context, dir string, opts EmbeddedOptions) error {
	if opts.DataDir != "" {
		r, err := startReplicated(ctx, etcdConfig(dir, opts, s.failure), s.failure)
		if r != nil {
			s.engine = r
		}
		if err != nil {
			return err
		}
		s.follow(opts.quota())
		r.hub = s.hub
		return s.hub.follow()
	}
	d, err := startDirect(dir, opts.quota(), etcdLogger(opts.Logger, s.failure), s.failure)
	if d != nil {
		s.engine = d
	}
	if err != nil {
		return err
	}
	s.follow(opts.quota())
	d.deliver = s.hub.deliver
	return nil
}

// follow creates the readers of the engine's storage.
func (s *Embedded) follow(quota int64) {
	s.kv = s.engine.kv()
	s.space = newSpace(s.engine, quota, s.failure)
	s.hub = newHub(s.engine, s.failure)
}

// quota is the limit of the database's size in bytes.
func (o *EmbeddedOptions) quota() int64 { return cmp.Or(o.QuotaBytes, defaultQuota) }

// fill writes the initial content of an ephemeral store to dir, if it has any.
func fill(ctx context.Context, dir string, opts EmbeddedOptions) (err error) {
	if opts.Snapshot == "" && opts.RevisionBump == 0 {
		return nil
	}
	if opts.Snapshot == "" {
		empty, remove, err := emptySnapshot(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
		opts.Snapshot = empty
	}
	return RestoreSnapshot(ctx, RestoreOptions{Snapshot: opts.Snapshot, DataDir: dir, RevisionBump: opts.RevisionBump})
}

// emptySnapshot writes a snapshot without keys to path. remove deletes it.
func emptySnapshot(ctx context.Context) (path string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "minikcm-empty-")
	if err != nil {
		return "", nil, fmt.Errorf("making a directory for an empty snapshot: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir)) // remove is nil if a return has set it so
		}
	}()
	path = filepath.Join(dir, "empty.db")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("making an empty snapshot: %w", err)
	}
	s, err := StartEmbedded(ctx, EmbeddedOptions{})
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	return path, remove, errors.Join(s.Snapshot(ctx, file), s.Close(), file.Close())
}

// Failed is closed when the store has failed for good, for example because the disk is full
// or a file was damaged. From then on every operation returns an UnavailableError that
// wraps Failure. Acknowledged writes remain in the data directory.
func (s *Embedded) Failed() <-chan struct{} { return s.failure.happened }

// Failure returns why the store has failed, or nil if it has not.
func (s *Embedded) Failure() error { return s.failure.get() }

// noRoom returns a suffix for an error that a full disk may have caused, because etcd does
// not always report that cause.
func noRoom(dir string) string {
	if free, known := freeBytes(dir); known && free < 2*walSegmentBytes {
		return fmt.Sprintf(" (the disk is full: %d bytes are free)", free)
	}
	return ""
}

// takeDir creates and locks the directory to work in, and returns its path.
func (s *Embedded) takeDir(dataDir string) (string, error) {
	if dataDir == "" {
		dir, remove, err := makeTemporaryDir()
		if err != nil {
			return "", fmt.Errorf("making a temporary directory for the embedded etcd: %w", err)
		}
		s.cleanup = append(s.cleanup, remove)
		return dir, nil
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", fmt.Errorf("making the data directory: %w", err)
	}
	lock, err := openLocked(filepath.Join(dataDir, "minikcm.lock"), true)
	if errors.Is(err, errLocked) {
		return "", &InUseError{DataDir: dataDir}
	}
	if err != nil {
		return "", fmt.Errorf("locking the data directory: %w", err)
	}
	s.cleanup = append(s.cleanup, lock.Close)
	unborn, err := verifyDataDir(dataDir)
	if unborn && err == nil {
		if err = os.RemoveAll(filepath.Join(dataDir, "member")); err != nil {
			err = fmt.Errorf("removing the files of a start that was interrupted: %w", err)
		}
	}
	return dataDir, err
}

// Close implements Store. It waits for operations in flight.
func (s *Embedded) Close() error {
	s.closeOnce.Do(func() {
		s.closed.Store(true)
		// A read may wait forever for a lock that a broken etcd holds.
		s.failure.unlessBroken(func() {
			s.inFlight.Lock()
			defer s.inFlight.Unlock()
		})
		if s.space != nil {
			s.failure.unlessBroken(s.space.close)
		}
		if s.hub != nil {
			s.failure.unlessBroken(s.hub.close)
		}
		if s.engine != nil {
			s.failure.unlessBroken(s.engine.close)
		}
		var errs []error
		for _, f := range s.cleanup {
			errs = append(errs, f())
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}
