package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// salvaged is a snapshot that is being made of single records.
type salvaged struct {
	path string
	db   *bolt.DB
	tx   *bolt.Tx
	// pending is the number of bytes that tx has written.
	pending int
}

// salvageBytes is the number of bytes after which a salvaged database is committed.
const salvageBytes = 16 << 20

// newSalvaged creates the file path with the database of an etcd without keys.
func newSalvaged(ctx context.Context, path string) (s *salvaged, err error) {
	empty, remove, err := emptySnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	content, err := os.ReadFile(empty)
	if err != nil {
		return nil, fmt.Errorf("reading an empty snapshot: %w", err)
	}
	if err := os.WriteFile(path, content[:len(content)-sha256.Size], 0o600); err != nil {
		return nil, fmt.Errorf("making a database for what is readable: %w", err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("opening a database for what is readable: %w", err)
	}
	s = &salvaged{path: path, db: db}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	// Empty the bucket of keys. The empty etcd's settings, in other buckets, stay as at its start.
	if err := s.tx.DeleteBucket(schema.Key.Name()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	_, err = s.tx.CreateBucket(schema.Key.Name())
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *salvaged) begin() (err error) {
	if s.tx, err = s.db.Begin(true); err != nil {
		return fmt.Errorf("writing what is readable: %w", err)
	}
	s.pending = 0
	return nil
}

// put writes a record.
func (s *salvaged) put(r record) error {
	keys := s.tx.Bucket(schema.Key.Name())
	keys.FillPercent = 0.9 // most records come in order
	if err := keys.Put(bytes.Clone(r.id), bytes.Clone(r.data)); err != nil {
		return fmt.Errorf("writing what is readable: %w", err)
	}
	if s.pending += len(r.data); s.pending < salvageBytes {
		return nil
	}
	if err := s.tx.Commit(); err != nil {
		return fmt.Errorf("writing what is readable: %w", err)
	}
	return s.begin()
}

// add writes a record, and returns false if it is there already.
func (s *salvaged) add(r record) (bool, error) {
	if s.tx.Bucket(schema.Key.Name()).Get(r.id) != nil {
		return false, nil
	}
	return true, s.put(r)
}

// finish schedules a compaction, which etcd makes when it starts, and makes the file a
// snapshot.
func (s *salvaged) finish(compacted int64) error {
	if compacted > 0 {
		revision := mvcc.RevToBytes(mvcc.Revision{Main: compacted}, mvcc.NewRevBytes())
		if err := s.tx.Bucket(schema.Meta.Name()).Put(schema.ScheduledCompactKeyName, revision); err != nil {
			return fmt.Errorf("scheduling a compaction: %w", err)
		}
	}
	err := s.tx.Commit()
	s.tx = nil
	if err != nil {
		return fmt.Errorf("writing what is readable: %w", err)
	}
	if err := s.close(); err != nil {
		return err
	}
	return appendHash(s.path)
}

// appendHash appends the SHA-256 of a file to it.
func appendHash(path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("hashing what is readable: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("hashing what is readable: %w", err)
	}
	if _, err := file.Write(hash.Sum(nil)); err != nil {
		return fmt.Errorf("writing the snapshot's hash: %w", err)
	}
	return nil
}

func (s *salvaged) close() error {
	if s.db == nil {
		return nil
	}
	var err error
	if s.tx != nil {
		err = s.tx.Rollback()
	}
	err = errors.Join(err, s.db.Close())
	s.db, s.tx = nil, nil
	return err
}
