package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

const (
	// memberName and peerURL are written into a new data directory. etcd does not
	// listen on peerURL: a cluster of one member has no peers.
	memberName = "minikcm"
	peerURL    = "http://127.0.0.1:2380"

	tickMs     = 5
	electionMs = 25

	defaultQuota = 8 << 30
	// maxRequestBytes leaves room for an object of 3 MiB, the largest body that the
	// apiserver accepts, and its envelope.
	maxRequestBytes = 4 << 20
	// snapshotCount is the number of writes after which etcd saves its raft state and
	// drops the log entries that it holds in memory.
	snapshotCount = 5000
	catchUpCount  = 1

	// walSegmentBytes is the size of a log file; etcd allocates two at start. With its
	// default of 64 MB they would use much memory where the temporary directory is in
	// memory.
	walSegmentBytes = 8 << 20

	brokenStopTimeout = 3 * time.Second
)

// setWALSegmentSize sets the size once: in etcd it is a global variable.
var setWALSegmentSize = sync.OnceFunc(func() { wal.SegmentSizeBytes = walSegmentBytes })

func etcdConfig(dir string, opts EmbeddedOptions, f *failure) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = memberName
	cfg.Dir = dir
	cfg.ListenPeerUrls, cfg.ListenClientUrls, cfg.AdvertiseClientUrls = nil, nil, nil
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = memberName + "=" + peerURL
	cfg.EnableGRPCGateway = false
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.UnsafeNoFsync = opts.DataDir == ""
	cfg.QuotaBackendBytes = opts.quota()
	cfg.MaxRequestBytes = maxRequestBytes
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotCount, catchUpCount
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, "0"
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcdLogger(opts.Logger, f))
	return cfg
}

// startEtcd returns once the server accepts writes. Where etcd would end the process
// because its files are damaged or the disk is full, only a goroutine of it ends, and f has
// the error.
func startEtcd(ctx context.Context, cfg *embed.Config, f *failure) (*embed.Etcd, error) {
	setWALSegmentSize()
	etcd, err := unlessFailed(f, func() (*embed.Etcd, error) { return embed.StartEtcd(cfg) })
	if err != nil {
		return etcd, err
	}
	if members := len(etcd.Server.Cluster().Members()); members > 1 {
		// A single member would wait for the others forever.
		return etcd, fmt.Errorf("the directory is that of a cluster with %d members; restore a snapshot of it into a new one first", members)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-f.happened:
		return etcd, f.get()
	case <-etcd.Server.StopNotify():
		return etcd, errors.New("it stopped")
	case <-ctx.Done():
		return etcd, ctx.Err()
	}
}

// unlessFailed returns what start returns, or the failure and, if start has returned in time,
// its etcd or storage:
//
//	etcd's backend commits in a goroutine of its own  locks the backend, writes to a full disk, ends in its fatal log line
//	StartEtcd                                         waits for the backend's lock forever
func unlessFailed[T any](f *failure, start func() (T, error)) (T, error) {
	type result struct {
		etcd T
		err  error
	}
	results := make(chan result, 1)
	f.unlessBroken(func() {
		// Access beyond the end of a truncated database file is a fault in mapped
		// memory; it becomes a panic.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		etcd, err := start()
		results <- result{etcd: etcd, err: err}
	})
	var r result
	select {
	case r = <-results:
	default: // start was left behind, or ended without returning
	}
	if broken := f.get(); broken != nil {
		return r.etcd, broken
	}
	return r.etcd, r.err
}
