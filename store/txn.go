package store

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// checkKey returns an error for a key that etcd cannot store.
func checkKey(key string) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	return nil
}

// putTxn returns the etcd transaction that puts value if the key's ModRevision is
// expected, and otherwise gets the key.
func putTxn(key string, value []byte, expected int64) *pb.TxnRequest {
	return compareTxn(key, expected, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{
		RequestPut: &pb.PutRequest{Key: []byte(key), Value: value},
	}})
}

// deleteTxn returns the etcd transaction that deletes the key if its ModRevision is
// expected, and otherwise gets the key.
func deleteTxn(key string, expected int64) *pb.TxnRequest {
	if expected == 0 {
		// No key is at revision 0, but etcd's comparison treats a missing key as
		// revision 0, so that deleting it would succeed.
		expected = -1
	}
	return compareTxn(key, expected, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
		RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
	}})
}

func compareTxn(key string, expected int64, op *pb.RequestOp) *pb.TxnRequest {
	return &pb.TxnRequest{
		Compare: []*pb.Compare{compareRevision(key, expected)},
		Success: []*pb.RequestOp{op},
		Failure: []*pb.RequestOp{getOp(key)},
	}
}

func compareRevision(key string, expected int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: []byte(key),
		TargetUnion: &pb.Compare_ModRevision{ModRevision: expected},
	}
}

func getOp(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}}
}

// guarded adds the context's guards to a transaction of compareTxn.
func guarded(ctx context.Context, txn *pb.TxnRequest) *pb.TxnRequest {
	for _, guard := range GuardsOf(ctx) {
		txn.Compare = append(txn.Compare, compareRevision(guard.Key, guard.Revision))
		txn.Failure = append(txn.Failure, getOp(guard.Key))
	}
	return txn
}

// txnRevision returns the revision that a transaction of compareTxn wrote. If it did not write,
// it returns a *GuardError or a *ConflictError; the former takes precedence.
func txnRevision(ctx context.Context, key string, response *pb.TxnResponse) (int64, error) {
	if response.Succeeded {
		return response.Header.Revision, nil
	}
	for i, guard := range GuardsOf(ctx) {
		current := int64(0)
		if kvs := response.Responses[1+i].GetResponseRange().GetKvs(); len(kvs) > 0 {
			current = kvs[0].ModRevision
		}
		if current != guard.Revision {
			return 0, &GuardError{Guard: guard, Current: current}
		}
	}
	conflict := &ConflictError{Key: key}
	if kvs := response.Responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
		current := fromProto(kvs[0])
		conflict.Current = &current
	}
	return 0, conflict
}
