package storage

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/assembly/timing"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/store"
)

// Options say where the objects of a cluster are.
type Options struct {
	// DataDir keeps the objects across restarts; empty: they are lost when the store is closed.
	DataDir string
	// Snapshot is the file of a snapshot to begin with.
	Snapshot string
	// Etcd names the endpoints of an etcd that is used instead; none: the store is embedded.
	Etcd store.EtcdOptions
	// RevisionBump raises the revisions.
	RevisionBump uint64
	// Faults makes a store that fails on demand.
	Faults bool
	Logger klog.Logger
}

// IsExternal reports whether other processes may use the store, too.
func (o *Options) IsExternal() bool { return len(o.Etcd.Endpoints) > 0 }

// Storage is the store of a cluster.
type Storage struct {
	// Store is the store, with its faults if there may be some.
	Store     store.Store
	Snapshots store.Snapshotter
	// Faults is Store if it fails on demand; nil otherwise.
	Faults *faulty.Store

	embedded     *store.Embedded // nil for an external etcd
	lastRevision atomic.Int64
}

// Open opens the store, and lets guard watch over one that is embedded.
func Open(ctx context.Context, o *Options, t *timing.Timing, guard *Guard) (*Storage, error) {
	s := &Storage{}
	if o.IsExternal() {
		external, err := store.DialEtcd(ctx, o.Etcd)
		if err != nil {
			return nil, err
		}
		s.Store, s.Snapshots = external, external
	} else {
		opts := store.EmbeddedOptions{Logger: o.Logger, Snapshot: o.Snapshot, RevisionBump: o.RevisionBump}
		if o.DataDir != "" {
			opts.DataDir = etcdDir(o.DataDir)
		}
		embedded, err := store.StartEmbedded(ctx, opts)
		if err != nil {
			return nil, adviseRepair(o.DataDir, err)
		}
		s.Store, s.Snapshots, s.embedded = embedded, embedded, embedded
		guard.watch(o.DataDir, embedded)
	}
	if o.Faults {
		s.Faults = faulty.New(s.Store, t.Clock, t.Random.Fork())
		s.Store = s.Faults
	}
	return s, nil
}

// LastRevision returns the revision of an embedded store when it was closed; 0 before, and if it
// could not be read.
func (s *Storage) LastRevision() int64 { return s.lastRevision.Load() }

// Close closes the store.
func (s *Storage) Close() error {
	if s.embedded != nil {
		if revision, err := s.embedded.Revision(context.Background()); err == nil { // it may have failed
			s.lastRevision.Store(revision)
		}
	}
	return s.Store.Close()
}

// etcdDir returns the directory of the embedded etcd within a data directory.
func etcdDir(dataDir string) string { return filepath.Join(dataDir, "etcd") }
