package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// A record that is accepted is one that etcd reads in the same way.
func FuzzReadRecord(f *testing.F) {
	data, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte("/a"), Value: []byte("v"), CreateRevision: 3, ModRevision: 7, Version: 2, Lease: 5})
	if err != nil {
		f.Fatal(err)
	}
	id := mvcc.RevToBytes(mvcc.Revision{Main: 7}, mvcc.NewRevBytes())
	f.Add(id, data)
	f.Add(append(id, tombstoneMark), []byte("\x0a\x02/a"))
	f.Fuzz(func(t *testing.T, id, data []byte) {
		r, err := readRecord(id, data)
		if err != nil {
			return
		}
		if etcd := mvcc.BytesToBucketKey(id); etcd.Main != r.revision || etcd.Sub != r.sub || mvcc.IsTombstone(id) != r.tombstone {
			t.Errorf("%q is %+v, not %+v", id, etcd, r)
		}
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal(data, kv); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kv.Key, r.key) || !bytes.Equal(kv.Value, r.value) || kv.CreateRevision != r.created || kv.Version != r.version {
			t.Errorf("%v is read as %+v", kv, r)
		}
	})
}

// No content of a log's file makes its reader panic or take more memory than the file has.
func FuzzReadLog(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "wal")
	log, err := wal.Create(zap.NewNop(), dir, []byte("metadata"))
	if err != nil {
		f.Fatal(err)
	}
	entries := []*raftpb.Entry{{Term: new(uint64(1)), Index: new(uint64(1)), Data: []byte("one")}, {Term: new(uint64(1)), Index: new(uint64(2)), Data: []byte("two")}}
	if err := log.Save(&raftpb.HardState{Term: new(uint64(1)), Commit: new(uint64(2))}, entries); err != nil {
		f.Fatal(err)
	}
	if err := log.SaveSnapshot(&walpb.Snapshot{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &raftpb.ConfState{}}); err != nil {
		f.Fatal(err)
	}
	if err := log.Close(); err != nil {
		f.Fatal(err)
	}
	name := filepath.Join(dir, "0000000000000000-0000000000000000.wal")
	content, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	content = bytes.TrimRight(content, "\x00")
	f.Add(append(content, make([]byte, 600)...))
	f.Add(content[:len(content)-5])
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := readLog(dir, nil)
		if err == nil && (log.committed > log.last || log.first > log.last+1) {
			t.Errorf("accepted: %+v", log)
		}
	})
}

// What history skips has another key.
func TestMayHavePrefix(t *testing.T) {
	encoded, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte("/pods/a"), Value: []byte("/secrets/v"), ModRevision: 7})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]bool{"": true, "/pods/": true, "/pods/a": true, "/pods/ab": false, "/secrets/": false} {
		if got := mayHavePrefix(encoded, prefix); got != want {
			t.Errorf("the prefix %q: %v, want %v", prefix, got, want)
		}
	}
	for name, unreadable := range map[string]string{"another field first": "\x10\x07\x0a\x05/pods", "no tag": "", "cut off": "\x0a\x09/pods"} {
		if !mayHavePrefix([]byte(unreadable), "/secrets/") {
			t.Errorf("%s: it is skipped, and not decoded", name)
		}
	}
}
