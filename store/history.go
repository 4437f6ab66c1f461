package store

import (
	"bytes"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// readHistory returns the events of keys that start with prefix in the revisions
// from..to, both included, which must have been applied. It returns a *CompactedError
// if some of them are compacted.
func readHistory(kv mvcc.KV, b backend.Backend, prefix string, from, to int64) (*Batch, error) {
	first := mvcc.RevToBytes(mvcc.Revision{Main: from}, mvcc.NewRevBytes())
	end := mvcc.RevToBytes(mvcc.Revision{Main: to + 1}, mvcc.NewRevBytes())
	events, err := rangeEvents(b, prefix, first, end)
	if err != nil {
		return nil, err
	}
	batch := &Batch{Events: events}
	if len(events) > 0 {
		batch.Revision = events[len(events)-1].KeyValue.ModRevision
	}
	// etcd marks a revision as compacted before it removes any of its data, so a check
	// after the read is sufficient.
	if oldest := kv.FirstRev(); from <= oldest {
		return nil, &CompactedError{Compacted: oldest}
	}
	return batch, nil
}

// rangeEvents reads the events stored between two revision keys.
func rangeEvents(b backend.Backend, prefix string, first, end []byte) ([]Event, error) {
	tx := b.ConcurrentReadTx()
	tx.RLock()
	defer tx.RUnlock()
	revisions, values := tx.UnsafeRange(schema.Key, first, end, 0)
	var events []Event
	var last []byte
	for i, value := range values {
		// After a commit, etcd returns the committed revisions twice until the next
		// write: from the file and from the read buffer that it keeps. Skip the second
		// copy.
		if bytes.Compare(revisions[i], last) <= 0 {
			continue
		}
		last = revisions[i]
		if !mayHavePrefix(value, prefix) {
			continue
		}
		var kv mvccpb.KeyValue
		// Unmarshal copies the value, which is mapped memory of the database.
		if err := proto.Unmarshal(value, &kv); err != nil {
			return nil, fmt.Errorf("decoding the stored revision %x: %w", revisions[i], err)
		}
		if !strings.HasPrefix(string(kv.Key), prefix) {
			continue
		}
		event := Event{KeyValue: fromProto(&kv)}
		if mvcc.IsTombstone(revisions[i]) {
			event.Type = Delete
			event.KeyValue.ModRevision = mvcc.BytesToRev(revisions[i]).Main
		}
		events = append(events, event)
	}
	return events, nil
}

// mayHavePrefix reports whether an encoded KeyValue has a key with the prefix, without decoding the rest: a watch that begins in
// the past reads the revisions of all keys. It is true for an encoding that does not begin with the key, as etcd's does.
func mayHavePrefix(encoded []byte, prefix string) bool {
	const keyField = 1
	number, kind, n := protowire.ConsumeTag(encoded)
	if number != keyField || kind != protowire.BytesType {
		return true
	}
	key, n := protowire.ConsumeBytes(encoded[n:])
	return n < 0 || bytes.HasPrefix(key, []byte(prefix))
}
