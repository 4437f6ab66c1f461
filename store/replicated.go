package store

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// replicated is an etcd server of one member: a write goes through its raft log, which survives
// the process, and is applied from there.
type replicated struct {
	etcd    *embed.Etcd
	server  *etcdserver.EtcdServer
	hub     *hub // set before the first write
	failure *failure
}

// startReplicated returns once the server accepts writes. The caller closes the result, which
// is not nil if etcd has started, even if there is an error.
func startReplicated(ctx context.Context, cfg *embed.Config, f *failure) (*replicated, error) {
	etcd, err := startEtcd(ctx, cfg, f)
	if etcd == nil {
		return nil, err
	}
	return &replicated{etcd: etcd, server: etcd.Server, failure: f}, err
}

func (r *replicated) kv() mvcc.WatchableKV { return r.server.KV() }

func (r *replicated) backend() backend.Backend { return r.server.Backend() }

func (r *replicated) settle(ctx context.Context) error { return r.server.LinearizableReadNotify(ctx) }

func (r *replicated) write(ctx context.Context, c *change) (int64, error) {
	if err := r.hub.begin(ctx); err != nil {
		return 0, err
	}
	bound, release := r.failure.bound(ctx)
	response, err := r.server.Txn(bound, c.txn())
	release()
	if err != nil {
		r.hub.end(1)
		return 0, err
	}
	if !response.Succeeded {
		r.hub.end(1)
	}
	return c.revision(response)
}

func (r *replicated) compact(ctx context.Context, revision int64, physical bool) error {
	_, err := r.server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: physical})
	return err
}

func (r *replicated) defragment() error { return r.server.Defragment() }

// disarm clears etcd's out-of-space alarm.
func (r *replicated) disarm(ctx context.Context) error {
	for _, alarm := range r.server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, Alarm: alarm.Alarm, MemberID: alarm.MemberID}
		if _, err := r.server.Alarm(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

func (r *replicated) close() { r.etcd.Close() }
