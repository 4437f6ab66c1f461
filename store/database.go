package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"minikcm.dev/minikcm/store/internal/pages"
)

// database holds the facts that etcd's database records about itself.
type database struct {
	// pages is the number of pages, used and free. notes is damage that etcd tolerates.
	pages uint64
	notes []string
	// records is the number of revisions of keys, and newest the last of them.
	records int
	newest  int64
	// applied is the index of the last log entry whose effect is in the database; 0 if it
	// is not known.
	applied uint64
	// compacted is the newest revision up to which history is, or is to be, deleted.
	compacted int64
	// buckets are the names of the existing buckets.
	buckets []string
	// schema is the version of the schema; empty before etcd 3.6.
	schema string
}

// openDatabase opens a database file to read its pages. The error is final: the content
// cannot be read at all. close must be called if there is no error.
func openDatabase(path string) (f *pages.File, closeFile func() error, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("looking at the database: %w", err)
	}
	if info.Size() == 0 {
		return nil, nil, damaged("database", path, errors.New("it is empty"))
	}
	if f, err = pages.Open(file, info.Size()); err != nil {
		return nil, nil, damaged("database", path, err)
	}
	if err := notInUse(path); err != nil {
		return nil, nil, err
	}
	return f, file.Close, nil
}

// notInUse returns an error if another process has the database open to write.
func notInUse(path string) error {
	// Read-only, bbolt reads no more than the meta pages, which are valid.
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("the database %s is in use by another process: stop that first (\"minikcm etcd-snapshot save\" saves a running cluster)", path)
	}
	if err != nil {
		return fmt.Errorf("opening the database %s: %w", path, err)
	}
	return db.Close()
}

// readDatabase reads all of a database. Each problem is passed to report, and each valid
// record to visit if it is not nil; an error of either ends the reading.
func readDatabase(f *pages.File, visit func(record) error, report func(error) error) (*database, error) {
	db := &database{pages: f.Pages(), notes: f.Notes()}
	err := f.Walk(pages.Visitor{
		Damage: func(d pages.Damage) error { return report(d) },
		Bucket: func(name string) { db.buckets = append(db.buckets, name) },
		Item: func(i pages.Item) error {
			err := db.item(i, visit)
			if problem := (*itemError)(nil); errors.As(err, &problem) {
				return report(err)
			}
			return err
		},
	})
	if err == nil {
		err = db.whole(report)
	}
	return db, err
}

// itemError is the damage of one item, whose page is well formed.
type itemError struct {
	bucket string
	page   uint64
	err    error
}

func (e *itemError) Error() string {
	return fmt.Sprintf("page %d (bucket %q): %v", e.page, e.bucket, e.err)
}
func (e *itemError) Unwrap() error { return e.err }

// item reads one item of a bucket.
func (db *database) item(i pages.Item, visit func(record) error) error {
	var err error
	switch i.Bucket {
	case string(schema.Key.Name()):
		var r record
		if r, err = readRecord(i.Key, i.Value); err == nil {
			db.records++
			db.newest = max(db.newest, r.revision)
			if visit != nil {
				return visit(r)
			}
		}
	case string(schema.Meta.Name()):
		err = db.setting(string(i.Key), i.Value)
	case string(schema.Members.Name()):
		if !json.Valid(i.Value) {
			err = fmt.Errorf("member %q is not JSON", i.Key)
		}
	}
	if err != nil {
		return &itemError{bucket: i.Bucket, page: i.Page, err: err}
	}
	return nil
}

// setting reads an item of the bucket "meta".
func (db *database) setting(key string, value []byte) error {
	switch key {
	case string(schema.MetaConsistentIndexKeyName):
		if len(value) != 8 {
			return errors.New("the consistent index has not 8 bytes")
		}
		db.applied = binary.BigEndian.Uint64(value)
	case string(schema.MetaTermKeyName):
		if len(value) != 8 {
			return errors.New("the term has not 8 bytes")
		}
	case string(schema.ScheduledCompactKeyName), string(schema.FinishedCompactKeyName):
		r, err := readRevision(value)
		if err != nil {
			return fmt.Errorf("the revision of the last compaction: %w", err)
		}
		db.compacted = max(db.compacted, r.revision)
	case string(schema.MetaConfStateName):
		if !json.Valid(value) {
			return errors.New("the members' state is not JSON")
		}
	case string(schema.MetaStorageVersionName):
		if _, err := isNewer(string(value)); err != nil {
			return err
		}
		db.schema = string(value)
	default:
		return &unknownError{"setting", key}
	}
	return nil
}

// whole reports missing buckets, and buckets that etcd does not have: with a flipped bit in
// a bucket's name, etcd would create an empty bucket beside it.
func (db *database) whole(report func(error) error) error {
	for _, name := range db.buckets {
		known := slices.ContainsFunc(knownBuckets(), func(b string) bool { return b == name })
		if !known {
			if err := report(&unknownError{"bucket", name}); err != nil {
				return err
			}
		}
	}
	// etcd creates the bucket of keys before it applies the first entry.
	if db.applied > 0 && !slices.Contains(db.buckets, string(schema.Key.Name())) {
		return report(fmt.Errorf("its bucket %q is missing", schema.Key.Name()))
	}
	if db.records > 0 && !slices.Contains(db.buckets, string(schema.Meta.Name())) {
		return report(fmt.Errorf("its bucket %q is missing", schema.Meta.Name()))
	}
	return nil
}

func knownBuckets() []string {
	names := []string{string(schema.Test.Name())}
	for _, b := range schema.AllBuckets {
		names = append(names, string(b.Name()))
	}
	return names
}
