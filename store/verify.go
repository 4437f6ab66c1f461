package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// lockTimeout limits the wait for a database that another process has locked.
const lockTimeout = 200 * time.Millisecond

// DamagedError is returned for a data directory or a snapshot that is not as etcd wrote it.
// Nothing in it has been changed.
type DamagedError struct {
	// Part is the damaged part, for example "database", and Path is its file or directory.
	Part, Path string
	Err        error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the %s %s is damaged: %v", e.Part, e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

func damaged(part, path string, err error) error {
	return &DamagedError{Part: part, Path: path, Err: err}
}

// dataFiles are the paths of an etcd's files.
type dataFiles struct{ dir, database, log string }

func filesOf(dir string) dataFiles {
	return dataFiles{dir: dir, database: filepath.Join(dir, "member", "snap", "db"), log: filepath.Join(dir, "member", "wal")}
}

// verifyDataDir returns an error for damage that would make etcd end the process, hang,
// start with an empty store beside the remaining files, or drop acknowledged writes. It reads
// every page of the database and every record of the log, and changes nothing.
//
// unborn is set if the process that created the directory ended before etcd wrote the first
// entry of the log, which is the member itself. etcd would wait for this member forever.
// No write can have been acknowledged.
func verifyDataDir(dir string) (unborn bool, err error) {
	files := filesOf(dir)
	hasDatabase, err := exists(files.database)
	if err != nil {
		return false, err
	}
	hasLog, err := exists(files.log)
	if err != nil {
		return false, err
	}
	switch {
	case hasDatabase && !hasLog:
		db, err := verifyDatabase(files.database)
		if err == nil && db.records > 0 {
			err = damaged("data directory", dir, fmt.Errorf("it has a database and no write-ahead log %s", files.log))
		}
		return false, err // an empty database: etcd was interrupted while it created the directory
	case hasLog && wal.Exist(files.log) && !hasDatabase:
		return false, damaged("data directory", dir, fmt.Errorf("it has a write-ahead log and no database %s", files.database))
	case !hasDatabase:
		return false, nil
	}
	db, err := verifyDatabase(files.database)
	if err == nil {
		err = notNewer("data directory", dir, db.schema)
	}
	if err != nil {
		return false, err
	}
	log, err := readLog(files.log, nil)
	if err != nil {
		return false, err
	}
	if err := verifyIndexes(db, log); err != nil {
		return false, damaged("data directory", dir, err)
	}
	return log.last == 0 && db.records == 0, nil
}

// verifyIndexes compares the database with the log. etcd applies entries of the log to the
// database after they are on disk, and it ignores entries up to the last applied one:
//
//	the log loses its end        last entry 90, applied 100
//	etcd starts                  writes entries 91 to 100, waits for each to be applied, and ignores it
//	clients                      wait until entry 101, and their first ten writes are lost
func verifyIndexes(db *database, log *raftLog) error {
	switch {
	case db.applied > log.last:
		return fmt.Errorf("its write-ahead log ends with entry %d, but its database contains entry %d: the log's end is missing, or the files are from different times", log.last, db.applied)
	case db.applied == 0 && (db.records > 0 || log.snapshot > 0):
		return errors.New("its database does not say which entries of the log it contains")
	case db.applied < log.snapshot:
		return fmt.Errorf("its database ends with entry %d, and its write-ahead log begins after entry %d: the files are from different times", db.applied, log.snapshot)
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

// verifyDatabase reads the database and returns an error for its first damage. The version of
// the schema can follow a setting that only a newer etcd has, so all of it is read.
func verifyDatabase(path string) (db *database, err error) {
	f, closeFile, err := openDatabase(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	var unknown error
	db, err = readDatabase(f, nil, func(problem error) error {
		if !isUnknown(problem) {
			return problem
		}
		unknown = cmp.Or(unknown, problem)
		return nil
	})
	if err == nil && notNewer("database", path, db.schema) == nil {
		err = unknown
	}
	if err != nil {
		return nil, damaged("database", path, err)
	}
	return db, nil
}
