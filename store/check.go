package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckOptions configure Check.
type CheckOptions struct {
	// Value returns the damage of a value that etcd stores under a key, or nil. A nil
	// function accepts every value.
	Value func(key string, value []byte) error
}

// CheckReport holds the findings of Check.
type CheckReport struct {
	Path string `json:"path"`
	// Kind is KindSnapshot or KindDataDir.
	Kind    string       `json:"kind"`
	Healthy bool         `json:"healthy"`
	Layers  []CheckLayer `json:"layers"`
	// Values are the damaged values, also of earlier revisions.
	Values []DamagedValue `json:"damagedValues,omitempty"`
}

// The kinds of checked objects.
const (
	KindSnapshot = "snapshot"
	KindDataDir  = "data directory"
)

// CheckLayer is one layer of a snapshot or a data directory.
type CheckLayer struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"`
	// Notes are defects that etcd mends itself. Problems are damage, at most maxProblems of them.
	Notes    []string `json:"notes,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// More is the number of problems that are not listed.
	More int `json:"moreProblems,omitempty"`
}

// maxProblems limits the problems that are listed of a layer.
const maxProblems = 1000

func (l *CheckLayer) add(problem error) {
	if len(l.Problems) == maxProblems {
		l.More++
		return
	}
	l.Problems = append(l.Problems, problem.Error())
}

// DamagedValue is a value that differs from the written one.
type DamagedValue struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"`
	// Current is set if no later revision of the key exists.
	Current bool   `json:"current"`
	Problem string `json:"problem"`
}

// Check reads all of a snapshot or a data directory of etcd and reports damage. It
// changes nothing. The error is for a path that cannot be checked; a data directory that a
// process has open is one.
func Check(path string, opts CheckOptions) (*CheckReport, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking for what to check: %w", err)
	}
	c := &check{report: &CheckReport{Path: path, Kind: KindSnapshot}, value: opts.Value}
	if info.IsDir() {
		c.report.Kind = KindDataDir
		err = c.dataDir(filesOf(path))
	} else {
		c.snapshotHash(path)
		err = c.database(path)
	}
	if err != nil {
		return nil, err
	}
	c.report.Healthy = c.healthy()
	return c.report, nil
}

// check is one call of Check.
type check struct {
	report *CheckReport
	value  func(key string, value []byte) error
	// db is nil if the database cannot be read at all.
	db *database
}

func (c *check) healthy() bool {
	for _, l := range c.report.Layers {
		if len(l.Problems) > 0 {
			return false
		}
	}
	return len(c.report.Values) == 0
}

func (c *check) snapshotHash(path string) {
	layer := CheckLayer{Name: "snapshot hash"}
	if err := verifySnapshot(path); err != nil {
		layer.add(err)
	} else {
		layer.Summary = "SHA-256"
	}
	c.report.Layers = append(c.report.Layers, layer)
}

func (c *check) dataDir(files dataFiles) error {
	if _, err := os.Stat(filepath.Join(files.dir, "member")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is neither a snapshot nor a data directory: there is no %s", files.dir, filepath.Join(files.dir, "member"))
	}
	if err := c.database(files.database); err != nil {
		return err
	}
	layer := CheckLayer{Name: "write-ahead log"}
	log, err := readLog(files.log, nil)
	if err != nil {
		layer.add(err)
	} else {
		layer.Summary = fmt.Sprintf("entries %d to %d in %s", log.first, log.last, plural(log.files, "file"))
	}
	if log.torn {
		layer.Notes = append(layer.Notes, "the last record was not written whole; it was not acknowledged, and etcd drops it")
	}
	index := CheckLayer{Name: "consistent index"}
	if c.db != nil {
		index.Summary = fmt.Sprintf("the database contains entry %d of %d", c.db.applied, log.last)
		if err := verifyIndexes(c.db, log); err != nil {
			index.add(err)
		}
	}
	c.report.Layers = append(c.report.Layers, layer, index)
	return nil
}

// database checks the pages, the records and the values of a database.
func (c *check) database(path string) (err error) {
	layer := CheckLayer{Name: "database pages"}
	f, closeFile, err := openDatabase(path)
	if broken := (*DamagedError)(nil); errors.As(err, &broken) || errors.Is(err, fs.ErrNotExist) {
		layer.add(err)
		c.report.Layers = append(c.report.Layers, layer)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	records, values := CheckLayer{Name: "revisions"}, newKeyHistory(c.value)
	c.db, err = readDatabase(f, func(r record) error {
		values.add(r)
		return nil
	}, func(problem error) error {
		if item := (*itemError)(nil); errors.As(problem, &item) {
			records.add(problem)
		} else {
			layer.add(problem)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, contradiction := range values.contradicted(c.db.compacted) {
		if contradiction.err != nil {
			records.add(contradiction.err)
		}
	}
	if err := values.missing(c.db.compacted); err != nil {
		records.add(err)
	}
	layer.Summary, layer.Notes = plural(int(c.db.pages), "page"), c.db.notes
	records.Summary = fmt.Sprintf("%s of %s, the newest is %d", plural(c.db.records, "record"), plural(len(values.keys), "key"), c.db.newest)
	c.report.Layers = append(c.report.Layers, layer, records)
	c.report.Values = values.damaged()
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
