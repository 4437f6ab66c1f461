package watchcache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// change is one change of one key.
type change struct {
	revision int64
	at       time.Time
	entry    *Entry // the state after; nil if the key was deleted
	previous *Entry // the state before; nil if the key was created
	// sameLabels reports that both states have the same labels, so label selectors
	// match both or neither.
	sameLabels bool

	withRevision func(runtime.Object, int64) runtime.Object
	goneOnce     sync.Once
	gone         *Entry
}

// last returns the state before the change with the revision of the change: the entry
// of the DELETED event for watchers that no longer see the object. All of them share
// it.
func (c *change) last() *Entry {
	c.goneOnce.Do(func() {
		c.gone = c.previous.at(c.revision, c.withRevision)
	})
	return c.gone
}

// size returns the bytes of the stored value that the change keeps in memory.
func (c *change) size() int {
	if c.entry != nil {
		return c.entry.size
	}
	return c.previous.size
}

func (c *change) key() string {
	if c.entry != nil {
		return c.entry.Key
	}
	return c.previous.Key
}
