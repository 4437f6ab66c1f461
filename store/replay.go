package store

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// replay repeats the writes of a log that the salvaged database did not contain yet, on the
// repaired data directory. It stops at the first damaged record.
func (r *repair) replay(ctx context.Context, log, dataDir string) (err error) {
	var requests []*pb.InternalRaftRequest
	next := r.db.applied + 1
	found, damage := readLog(log, func(e *raftpb.Entry) error {
		if e.GetIndex() < next || r.db.applied == 0 {
			return nil
		}
		if e.GetIndex() > next {
			return fmt.Errorf("entry %d is missing", next)
		}
		next++
		request := &pb.InternalRaftRequest{}
		if e.GetType() == raftpb.EntryNormal && len(e.GetData()) > 0 && proto.Unmarshal(e.GetData(), request) == nil {
			requests = append(requests, request)
		}
		return nil
	})
	switch {
	case damage != nil:
		r.lost("%v; writes behind that are not in the database", damage)
	case r.db.applied == 0 && found.last > 0:
		r.lost("the writes of the log: the database does not say which of them it contains")
	case r.db.applied > found.last:
		r.lost("writes behind entry %d of the log that are not in the database: the log's end is missing", r.db.applied)
	}
	if len(requests) == 0 {
		return nil
	}
	s, err := StartEmbedded(ctx, EmbeddedOptions{DataDir: dataDir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	server := s.engine.(*replicated) // as of every data directory
	failed := 0
	for _, request := range requests {
		switch applied, err := server.repeat(ctx, request); {
		case err != nil:
			return fmt.Errorf("repeating a write of the log: %w", err)
		case applied:
			r.report.Replayed++
		default:
			failed++
		}
	}
	if r.broken && failed > 0 {
		r.lost("%s of the log whose conditions are not met: they failed when they were made, or depend on what is lost", plural(failed, "write"))
	}
	return nil
}

// repeat makes a write of an earlier log. applied is false for a transaction whose condition
// is not met, and for requests that do not write keys.
func (r *replicated) repeat(ctx context.Context, request *pb.InternalRaftRequest) (applied bool, err error) {
	bound, release := r.failure.bound(ctx)
	defer release()
	switch {
	case request.GetTxn() != nil:
		response, err := r.server.Txn(bound, request.GetTxn())
		return err == nil && response.GetSucceeded(), err
	case request.GetPut() != nil:
		_, err := r.server.Put(bound, request.GetPut())
		return err == nil, err
	case request.GetDeleteRange() != nil:
		_, err := r.server.DeleteRange(bound, request.GetDeleteRange())
		return err == nil, err
	}
	return false, nil
}
