package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// lockTimeout limits the wait for a database that another process has locked.
const lockTimeout = 200 * time.Millisecond

// verifyDataDir returns an error for damage that would make etcd end the process, hang,
// or start with an empty store beside the remaining files. It changes nothing.
func verifyDataDir(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the data directory %s is damaged: %v", dir, r)
		}
	}()
	// Access beyond the end of a truncated database file is a fault in mapped memory;
	// it becomes a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	database, log := filepath.Join(dir, "member", "snap", "db"), filepath.Join(dir, "member", "wal")
	hasDatabase, err := exists(database)
	if err != nil {
		return err
	}
	hasLog, err := exists(log)
	if err != nil {
		return err
	}
	switch {
	case hasDatabase && !hasLog:
		keys, err := verifyDatabase(database)
		if err == nil && keys > 0 {
			err = fmt.Errorf("the data directory %s is damaged: it has a database and no write-ahead log %s", dir, log)
		}
		return err // an empty database: etcd was interrupted while it created the directory
	case hasLog && wal.Exist(log) && !hasDatabase:
		return fmt.Errorf("the data directory %s is damaged: it has a write-ahead log and no database %s", dir, database)
	case hasDatabase:
		if _, err := verifyDatabase(database); err != nil {
			return err
		}
		return verifyLog(log)
	}
	return nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the embedded etcd's files: %w", err)
	}
	return true, nil
}

// verifyDatabase reads all pages of the database, as etcd does at start, but returns an
// error for a damaged one instead of ending the process. keys is the number of key
// states stored.
func verifyDatabase(path string) (keys int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("looking at the database: %w", err)
	}
	if info.Size() == 0 {
		return 0, fmt.Errorf("the database %s is damaged: it is empty", path)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, berrors.ErrTimeout) {
		return 0, fmt.Errorf("the database %s is in use by another process", path)
	}
	if errors.Is(err, os.ErrPermission) {
		return 0, fmt.Errorf("opening the database: %w", err)
	}
	if err != nil {
		return 0, fmt.Errorf("the database %s is damaged: %w", path, err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		if size := tx.Size(); size > info.Size() {
			return fmt.Errorf("it has %d bytes of %d", info.Size(), size)
		}
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			isKeys := bytes.Equal(name, schema.Key.Name())
			return bucket.ForEach(func(_, _ []byte) error {
				if isKeys {
					keys++
				}
				return nil
			})
		})
	})
	if err != nil {
		return 0, fmt.Errorf("the database %s is damaged: %w", path, err)
	}
	return keys, nil
}

// verifyLog reads the write-ahead log. A torn last record is not damage: the write was
// never acknowledged, and etcd truncates the record.
func verifyLog(dir string) error {
	if !wal.Exist(dir) {
		return fmt.Errorf("the write-ahead log %s is damaged: it has no files", dir)
	}
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), dir)
	if err != nil {
		return fmt.Errorf("the write-ahead log %s is damaged: %w", dir, err)
	}
	if len(snapshots) == 0 {
		return fmt.Errorf("the write-ahead log %s is damaged: it has no beginning", dir)
	}
	if _, err := wal.Verify(zap.NewNop(), dir, snapshots[len(snapshots)-1]); err != nil {
		return fmt.Errorf("the write-ahead log %s is damaged: %w", dir, err)
	}
	return nil
}
