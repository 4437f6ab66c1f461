package watchcache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// change is what happened to one key at one revision.
type change struct {
	revision int64
	at       time.Time
	entry    *Entry // the state after; nil when the key was deleted
	previous *Entry // the state before; nil when the key was created
	// sameLabels says that label selectors match both states or neither.
	sameLabels bool

	withRevision func(runtime.Object, int64) runtime.Object
	goneOnce     sync.Once
	gone         *Entry
}

// last is the state before the change with the revision of the change: what a
// watcher is told whose view the object has left. All watchers share it.
func (c *change) last() *Entry {
	c.goneOnce.Do(func() {
		c.gone = &Entry{
			Key: c.previous.Key, Revision: c.revision,
			Object: c.withRevision(c.previous.Object, c.revision),
			Labels: c.previous.Labels, Fields: c.previous.Fields,
		}
	})
	return c.gone
}

func (c *change) key() string {
	if c.entry != nil {
		return c.entry.Key
	}
	return c.previous.Key
}
