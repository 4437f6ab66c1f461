package store

import (
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

// txn returns the etcd transaction that makes the change if the key's ModRevision is the
// expected one and the guards hold, and otherwise gets their keys.
func (c *change) txn() *pb.TxnRequest {
	expected := c.expected
	op := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{
		RequestPut: &pb.PutRequest{Key: []byte(c.key), Value: c.value},
	}}
	if c.kind == Delete {
		op = &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(c.key)},
		}}
		if expected == 0 {
			// No key is at revision 0, but etcd's comparison treats a missing key as
			// revision 0, so that deleting it would succeed.
			expected = -1
		}
	}
	txn := compareTxn(c.key, expected, op)
	for _, guard := range c.guards {
		txn.Compare = append(txn.Compare, compareRevision(guard.Key, guard.Revision))
		txn.Failure = append(txn.Failure, getOp(guard.Key))
	}
	return txn
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

// revision returns the revision that the transaction of the change wrote. If it did not write,
// it returns a *GuardError or a *ConflictError; the former takes precedence.
func (c *change) revision(response *pb.TxnResponse) (int64, error) {
	if response.Succeeded {
		return response.Header.Revision, nil
	}
	for i, guard := range c.guards {
		current := int64(0)
		if kvs := response.Responses[1+i].GetResponseRange().GetKvs(); len(kvs) > 0 {
			current = kvs[0].ModRevision
		}
		if current != guard.Revision {
			return 0, &GuardError{Guard: guard, Current: current}
		}
	}
	conflict := &ConflictError{Key: c.key}
	if kvs := response.Responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
		current := fromProto(kvs[0])
		conflict.Current = &current
	}
	return 0, conflict
}
