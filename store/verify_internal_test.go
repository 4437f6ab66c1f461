package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"google.golang.org/protobuf/proto"
)

// BenchmarkVerifyDatabase reads a database of 100 MB, as every start on a data directory
// does before etcd reads it.
func BenchmarkVerifyDatabase(b *testing.B) {
	path := filepath.Join(b.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		b.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucket([]byte("meta")); err != nil {
			return err
		}
		keys, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		keys.FillPercent = 0.9
		for i := range int64(60_000) {
			kv, err := proto.Marshal(&mvccpb.KeyValue{
				Key: fmt.Appendf(nil, "/registry/pods/default/web-%d", i), Value: bytes.Repeat([]byte("x"), 1300), CreateRevision: i + 2, ModRevision: i + 2, Version: 1,
			})
			if err != nil {
				return err
			}
			if err := keys.Put(mvcc.RevToBytes(mvcc.Revision{Main: i + 2}, mvcc.NewRevBytes()), kv); err != nil {
				return err
			}
		}
		return nil
	})
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if db, err := verifyDatabase(path); err != nil || db.records != 60_000 {
			b.Fatal(db, err)
		}
	}
}
