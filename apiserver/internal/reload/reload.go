package reload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
	"minikcm.dev/minikcm/clock"
)

// File is a configuration file to follow. All exported fields are required.
type File struct {
	// Name is the configuration's in the log, such as "authorization config".
	Name string
	Path string
	// Loaded is the content in effect.
	Loaded []byte
	// Apply puts content into effect. After an error, the earlier content stays in effect; a
	// Temporary one is retried after a minute. ctx ends when the file is no longer followed.
	Apply func(ctx context.Context, content []byte) error
	// Succeeded is called after content was put into effect, and Failed after content could not be read
	// or applied.
	Succeeded func(content []byte)
	Failed    func()
	Logger    klog.Logger

	// retryAfter is the delay after a TemporaryError, in real time; 0 means retryInterval.
	retryAfter time.Duration
}

// TemporaryError is the error of content that may be applied later: it depends on another program.
type TemporaryError struct{ error }

// Temporary returns a TemporaryError, or nil for nil.
func Temporary(err error) error {
	if err == nil {
		return nil
	}
	return TemporaryError{err}
}

// Unwrap returns the wrapped error.
func (e TemporaryError) Unwrap() error { return e.error }

// retryInterval is the delay before content is applied again after a TemporaryError, in real
// time, as upstream.
const retryInterval = time.Minute

// Follower follows a file until it is closed.
type Follower struct {
	file    File
	watcher *fsnotify.Watcher
	cancel  context.CancelFunc
	running sync.WaitGroup
	// target is the folder of the file that the path leads to through symbolic links, if it is
	// another one than the path's.
	target string
	// seen is the content that was last applied, successfully or not.
	seen []byte
}

// Follow applies the file's content whenever it changes, in the order of the changes. The
// caller must close the Follower. It returns an error if the machine cannot watch the file's
// folder.
func Follow(file File) (*Follower, error) {
	file.retryAfter = cmp.Or(file.retryAfter, retryInterval)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching the %s %s: %w", file.Name, file.Path, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Follower{file: file, watcher: watcher, cancel: cancel, seen: file.Loaded}
	// A watch of the file itself would end when an editor or a ConfigMap's volume replaces it.
	if err := watcher.Add(filepath.Dir(file.Path)); err != nil {
		cancel()
		_ = watcher.Close() // nothing is watched
		return nil, fmt.Errorf("watching the folder of the %s %s: %w", file.Name, file.Path, err)
	}
	f.running.Go(func() { f.run(ctx) })
	return f, nil
}

// Close ends the watch, and waits for the application of content to end.
func (f *Follower) Close() {
	f.cancel()
	f.running.Wait()
	_ = f.watcher.Close() // the descriptor is released in any case
}

func (f *Follower) run(ctx context.Context) {
	var due <-chan time.Time // nil: nothing is to be retried
	stop := func() bool { return true }
	defer func() { stop() }()
	look := func(again bool) {
		result := f.check(ctx, again)
		if result == unchanged {
			return
		}
		stop()
		if due = nil; result == failedForNow {
			timer := clock.Real().NewTimer(f.file.retryAfter)
			due, stop = timer.C(), timer.Stop
		}
	}
	// The file may have changed between its first reading and the beginning of the watch.
	look(false)
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			look(true)
		case _, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			look(false)
		case err, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			f.file.Logger.Error(err, "Watching a configuration file", "config", f.file.Name, "file", f.file.Path)
			look(false) // events may have been lost
		}
	}
}

// outcome is the result of a check.
type outcome int

const (
	unchanged outcome = iota
	settled           // applied, or not valid
	failedForNow
)

// check applies the file's content if it has changed or, with again, in any case.
func (f *Follower) check(ctx context.Context, again bool) outcome {
	if ctx.Err() != nil {
		return unchanged
	}
	f.followTarget()
	content, err := configfile.Read(f.file.Path)
	if os.IsNotExist(err) {
		return unchanged // it is being replaced: an event follows
	}
	if err == nil {
		if bytes.Equal(content, f.seen) && !again {
			return unchanged
		}
		f.seen = content
		err = f.file.Apply(ctx, content)
	}
	if ctx.Err() != nil {
		return unchanged
	}
	if err != nil {
		f.file.Logger.Error(err, "Reloading a configuration failed: the earlier one stays in effect", "config", f.file.Name, "file", f.file.Path)
		f.file.Failed()
		if errors.As(err, new(TemporaryError)) {
			return failedForNow
		}
		return settled
	}
	f.file.Logger.Info("Reloaded a configuration", "config", f.file.Name, "file", f.file.Path)
	f.file.Succeeded(content)
	return settled
}

// followTarget also watches the folder of the file that a symbolic link leads to.
func (f *Follower) followTarget() {
	path, err := filepath.EvalSymlinks(f.file.Path)
	if err != nil {
		return
	}
	folder := filepath.Dir(path)
	if own, err := filepath.EvalSymlinks(filepath.Dir(f.file.Path)); err == nil && own == folder {
		folder = ""
	}
	if folder == f.target {
		return
	}
	if f.target != "" {
		_ = f.watcher.Remove(f.target) // it may not exist any more
	}
	f.target = folder
	if folder == "" {
		return
	}
	if err := f.watcher.Add(folder); err != nil {
		f.file.Logger.Error(err, "Watching the folder of a configuration file", "config", f.file.Name, "folder", folder)
	}
}
