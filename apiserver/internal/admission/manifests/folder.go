package manifests

import (
	"context"
	"fmt"
	"sync"

	"github.com/fsnotify/fsnotify"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/manifest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Folder has the objects of a folder's files, until it is closed.
type Folder struct {
	dir     string
	kinds   []*resources.Resource
	logger  klog.Logger
	watcher *fsnotify.Watcher
	running sync.WaitGroup

	mu      sync.Mutex
	content content
	// version counts the changes.
	version int64
}

// Open reads a folder of webhook configurations of one kind, or of policies and their bindings, and
// begins to follow it: whenever its files change, they are read again, and invalid files leave the
// earlier objects in effect. The caller must close the Folder.
func Open(dir string, logger klog.Logger, kinds ...*resources.Resource) (*Folder, error) {
	if err := manifest.ValidateStaticManifestsDir(dir); err != nil {
		return nil, err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching the folder %s: %w", dir, err)
	}
	f := &Folder{dir: dir, kinds: kinds, logger: logger, watcher: watcher}
	if err = watcher.Add(dir); err != nil {
		err = fmt.Errorf("watching the folder %s: %w", dir, err)
	} else if f.content, err = load(dir, kinds); err != nil {
		err = fmt.Errorf("reading the manifests in %s: %w", dir, err)
	}
	if err != nil {
		_ = watcher.Close() // the descriptor is released in any case
		return nil, err
	}
	f.running.Go(f.follow)
	return f, nil
}

// Close ends the watch, and waits for a reading to end.
func (f *Folder) Close() {
	_ = f.watcher.Close() // the descriptor is released in any case
	f.running.Wait()
}

func (f *Folder) follow() {
	for {
		select {
		case _, ok := <-f.watcher.Events:
			if !ok {
				return
			}
		case err, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			f.logger.Error(err, "Watching a folder of manifests", "folder", f.dir) // events may have been lost
		}
		f.reload()
	}
}

func (f *Folder) reload() {
	loaded, err := load(f.dir, f.kinds)
	if err != nil {
		f.logger.Error(err, "Reading admission manifests failed: the earlier ones stay in effect", "folder", f.dir)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if loaded.hash == f.content.hash {
		return
	}
	f.content = loaded
	f.version++
	f.logger.Info("Reloaded admission manifests", "folder", f.dir)
}

// Of returns the objects of a resource.
func (f *Folder) Of(resource string) Objects { return Objects{f, resource} }

// Objects are the objects of one resource in a folder.
type Objects struct {
	folder   *Folder
	resource string
}

// Empty reports whether there are none.
func (o Objects) Empty(ctx context.Context) (bool, error) {
	all, err := o.KnownIn(ctx, "")
	return len(all) == 0, err
}

// Version returns a number that grows with every change.
func (o Objects) Version() int64 {
	o.folder.mu.Lock()
	defer o.folder.mu.Unlock()
	return o.folder.version
}

// KnownIn returns the objects, which have no namespace. They must not be modified.
func (o Objects) KnownIn(context.Context, string) ([]runtime.Object, error) {
	o.folder.mu.Lock()
	defer o.folder.mu.Unlock()
	return o.folder.content.objects[o.resource], nil
}
