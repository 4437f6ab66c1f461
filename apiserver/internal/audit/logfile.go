package audit

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// logFile is a file that is rotated when it is full: NAME.log is renamed to NAME-TIME.log,
// in UTC. It is rotated within Write, so that no goroutine outlives Close.
type logFile struct {
	path       string
	maxBytes   int64 // 0: no limit
	maxAge     time.Duration
	maxBackups int
	compress   bool

	mu   sync.Mutex
	file *os.File
	size int64
}

// backupTime is the time in the names of rotated files, as kube-apiserver writes it.
const backupTime = "2006-01-02T15-04-05.000"

func openLog(opts *LogOptions) (*logFile, error) {
	l := &logFile{
		path: opts.Path, maxBytes: int64(opts.MaxSize) * mebibyte, maxAge: time.Duration(opts.MaxAge) * 24 * time.Hour,
		maxBackups: opts.MaxBackups, compress: opts.Compress,
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, fmt.Errorf("--audit-log-path: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("--audit-log-path: %w", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends a line, after a rotation if the file would be too large.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil { // an earlier rotation failed
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	if l.maxBytes > 0 && l.size > 0 && l.size+int64(len(line)) > l.maxBytes {
		if err := l.rotate(); err != nil {
			return 0, fmt.Errorf("rotating the audit log %s: %w", l.path, err)
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// rotate renames the file, begins a new one and removes old ones. The caller holds mu.
func (l *logFile) rotate() error {
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return err
	}
	backup := l.backupName(clock.Real().Now())
	if err := os.Rename(l.path, backup); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.compress {
		if err := compressFile(backup); err != nil {
			return err
		}
	}
	return l.removeOld(clock.Real().Now())
}

// backupName returns a name that is not taken: two rotations may happen in a millisecond.
func (l *logFile) backupName(now time.Time) string {
	prefix, ext := l.affixes()
	for ; ; now = now.Add(time.Millisecond) {
		name := prefix + now.UTC().Format(backupTime) + ext
		_, plain := os.Lstat(name)
		_, compressed := os.Lstat(name + ".gz")
		if plain != nil && compressed != nil {
			return name
		}
	}
}

// affixes returns the texts before and after the time in the names of rotated files.
func (l *logFile) affixes() (prefix, ext string) {
	ext = filepath.Ext(l.path)
	return strings.TrimSuffix(l.path, ext) + "-", ext
}

// removeOld removes the rotated files that are too old or too many.
func (l *logFile) removeOld(now time.Time) error {
	prefix, ext := l.affixes()
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		return err
	}
	var backups []string // the oldest first, because the time is in the name
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(l.path), entry.Name())
		if _, ok := timeOf(path, filepath.Clean(prefix), ext); ok {
			backups = append(backups, path)
		}
	}
	slices.Sort(backups)
	var all []error
	for i, path := range backups {
		at, _ := timeOf(path, filepath.Clean(prefix), ext)
		tooMany := l.maxBackups > 0 && len(backups)-i > l.maxBackups
		tooOld := l.maxAge > 0 && now.Sub(at) > l.maxAge
		if tooMany || tooOld {
			all = append(all, os.Remove(path))
		}
	}
	return errors.Join(all...)
}

// timeOf returns the time in the name of a rotated file.
func timeOf(path, prefix, ext string) (time.Time, bool) {
	text, ok := strings.CutPrefix(strings.TrimSuffix(path, ".gz"), prefix)
	if !ok {
		return time.Time{}, false
	}
	text, ok = strings.CutSuffix(text, ext)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(backupTime, text)
	return at, err == nil
}

// compressFile replaces a file by its compressed form.
func compressFile(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() // it is only read
	out, err := os.OpenFile(path+".gz", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	compressor := gzip.NewWriter(out)
	_, err = io.Copy(compressor, in)
	if err = errors.Join(err, compressor.Close(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".gz"))
	}
	return os.Remove(path)
}
