package watchcache

import (
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const (
	defaultRingSize         = 16384
	defaultRingAge          = 5 * time.Minute
	defaultWatcherBuffer    = 8192
	defaultBookmarkInterval = time.Minute
)

// Config says what a Cache needs. Store, Prefix, Decode, Attrs, WithRevision and
// Clock are required.
type Config struct {
	Store store.Store
	// Prefix is what the keys of all the objects start with.
	Prefix string
	// Decode makes the object of a stored value, its resourceVersion set.
	Decode func(store.KeyValue) (runtime.Object, error)
	// Attrs returns what selectors are matched against. It is kept with the object.
	Attrs func(runtime.Object) (labels.Set, fields.Fields)
	// WithRevision returns a copy of an object that has the given resourceVersion
	// and may share all else with it.
	WithRevision func(runtime.Object, int64) runtime.Object
	Clock        clock.Clock
	Ledger       *clock.Ledger
	Logger       klog.Logger

	// RingSize is the most events that are kept for watchers that begin in the
	// past. 0 is 16384.
	RingSize int
	// RingAge is for how long events are kept, of the cluster's time; a few hundred
	// are kept for longer. 0 is 5 minutes, negative is for ever.
	RingAge time.Duration
	// WatcherBuffer is how many events may wait for a watcher before it is ended as
	// too slow. 0 is 8192. The events that it begins with do not count.
	WatcherBuffer int
	// BookmarkInterval is how often watchers that asked for bookmarks get one, of
	// the cluster's time, if there is anything new to tell. 0 is one minute.
	BookmarkInterval time.Duration
	// IndexFields are the fields whose exact match, in a watcher's selector, lets
	// the cache find the watchers of an event without asking each. Nil means
	// metadata.name and spec.nodeName.
	IndexFields []string
}

func (cfg Config) withDefaults() Config {
	if cfg.RingSize == 0 {
		cfg.RingSize = defaultRingSize
	}
	if cfg.RingAge == 0 {
		cfg.RingAge = defaultRingAge
	}
	if cfg.WatcherBuffer == 0 {
		cfg.WatcherBuffer = defaultWatcherBuffer
	}
	if cfg.BookmarkInterval == 0 {
		cfg.BookmarkInterval = defaultBookmarkInterval
	}
	if cfg.IndexFields == nil {
		cfg.IndexFields = []string{"metadata.name", "spec.nodeName"}
	}
	return cfg
}
