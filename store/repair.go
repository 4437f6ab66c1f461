package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/store/internal/pages"
)

// RepairOptions configure Repair.
type RepairOptions struct {
	// Path is the snapshot or the data directory to read, which is not changed.
	Path string
	// DataDir is the data directory to create. It must not exist or must be empty.
	DataDir string
	// Value is as in CheckOptions. Values that it refuses are left out.
	Value func(key string, value []byte) error
}

// RepairReport lists the data that Repair kept, and the data that is lost.
type RepairReport struct {
	Path    string `json:"path"`
	DataDir string `json:"dataDir"`
	// Records is the number of revisions of keys that were kept, Found the number of them found in
	// pages that the database itself does not reach any more, and Keys the number of keys that
	// exist.
	Records int `json:"records"`
	Found   int `json:"found"`
	Keys    int `json:"keys"`
	// Replayed is the number of log entries that the database did not contain yet.
	Replayed int `json:"replayed"`
	// Lost describes the data that is not in the new directory.
	Lost []string `json:"lost,omitempty"`
}

// Repair makes a new data directory from the readable data of a damaged snapshot or data directory.
// Of a key whose newest revision is damaged, an earlier one becomes the newest if there is one.
// Leases, users and alarms of etcd are not kept.
func Repair(ctx context.Context, opts RepairOptions) (*RepairReport, error) {
	if err := checkNew(opts.DataDir); err != nil {
		return nil, err
	}
	info, err := os.Stat(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("looking for what to repair: %w", err)
	}
	work, err := os.MkdirTemp("", "minikcm-repair-")
	if err != nil {
		return nil, fmt.Errorf("making a directory to repair in: %w", err)
	}
	defer os.RemoveAll(work)
	r := &repair{report: &RepairReport{Path: opts.Path, DataDir: opts.DataDir}, history: newKeyHistory(opts.Value), kept: map[string]record{}}
	database, log := opts.Path, ""
	if info.IsDir() {
		files := filesOf(opts.Path)
		database, log = files.database, files.log
	}
	snapshot := filepath.Join(work, "readable.db")
	if err := r.salvage(ctx, database, snapshot); err != nil {
		return nil, err
	}
	if err := RestoreSnapshot(ctx, RestoreOptions{Snapshot: snapshot, DataDir: opts.DataDir}); err != nil {
		return nil, err
	}
	if log != "" {
		err = r.replay(ctx, log, opts.DataDir)
	}
	return r.report, err
}

// repair is one call of Repair.
type repair struct {
	report  *RepairReport
	history *keyHistory
	// kept has the newest record of each key that was kept, without its value.
	kept map[string]record
	db   *database
	// broken is set if the database has damaged pages or records.
	broken bool
}

func (r *repair) lost(format string, args ...any) {
	r.report.Lost = append(r.report.Lost, fmt.Sprintf(format, args...))
}

// salvage writes the readable records of a database to a new snapshot.
func (r *repair) salvage(ctx context.Context, path, snapshot string) (err error) {
	f, closeFile, err := openDatabase(path)
	if err != nil {
		return fmt.Errorf("nothing can be read, restore an earlier snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	target, err := newSalvaged(ctx, snapshot)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	r.db, err = readDatabase(f, func(rec record) error { return r.keep(target, rec) }, func(problem error) error {
		r.broken = true
		r.lost("%v", problem)
		return nil
	})
	if err != nil {
		return err
	}
	if r.broken {
		if err := r.scan(f, target); err != nil {
			return err
		}
	}
	r.summarize()
	return target.finish(r.compacted())
}

// keep adds a record to target, unless its value is damaged.
func (r *repair) keep(target *salvaged, rec record) error {
	damagedBefore := len(r.history.values)
	r.history.add(rec)
	if len(r.history.values) > damagedBefore {
		return nil
	}
	r.keepNewest(rec)
	return target.put(rec)
}

func (r *repair) keepNewest(rec record) {
	if len(rec.key) > 0 && rec.revision >= r.kept[string(rec.key)].revision {
		r.kept[string(rec.key)] = rec.facts()
	}
	r.report.Records++
}

// scan adds records from pages that the database does not reach any more. etcd never changes
// a record, and deletes none that is newer than the last compaction: such a record is part of
// the history wherever it is found. An older one may have been deleted, and is left out.
func (r *repair) scan(f *pages.File, target *salvaged) error {
	return f.Scan(func(i pages.Item) error {
		rec, err := readRecord(i.Key, i.Value)
		if err != nil || len(rec.key) == 0 || rec.revision <= r.db.compacted || rec.revision <= 1 {
			return nil
		}
		if r.history.value != nil && !rec.tombstone && r.history.value(string(rec.key), rec.value) != nil {
			return nil
		}
		isNew, err := target.add(rec)
		if err != nil || !isNew {
			return err
		}
		r.report.Found++
		r.history.found(rec)
		r.keepNewest(rec)
		return nil
	})
}

// compacted returns the revision up to which history is compacted: watchers cannot resume
// before a revision that is lost.
func (r *repair) compacted() int64 {
	newest := r.db.compacted
	if lost := r.history.lost(newest); len(lost) > 0 {
		newest = lost[len(lost)-1].last
	}
	for _, v := range r.history.values {
		newest = max(newest, v.Revision)
	}
	if contradictions := r.history.contradicted(newest); len(contradictions) > 0 {
		newest = contradictions[len(contradictions)-1].revision
	}
	return newest
}

// summarize adds the lost keys and revisions to the report.
func (r *repair) summarize() {
	for _, v := range r.history.damaged() {
		switch kept, ok := r.kept[v.Key]; {
		case !v.Current:
			r.lost("revision %d of %q, which is not the newest: %s", v.Revision, v.Key, v.Problem)
		case !ok || kept.tombstone:
			r.lost("%q: %s", v.Key, v.Problem)
		default:
			r.lost("revision %d of %q, revision %d takes its place: %s", v.Revision, v.Key, kept.revision, v.Problem)
		}
	}
	for _, contradiction := range r.history.contradicted(r.db.compacted) {
		if contradiction.err != nil {
			r.lost("%v", contradiction.err)
		}
	}
	if err := r.history.missing(r.db.compacted); err != nil {
		r.lost("%v", err)
	}
	for _, rec := range r.kept {
		if !rec.tombstone {
			r.report.Keys++
		}
	}
}
