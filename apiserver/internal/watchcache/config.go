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
	defaultRingBytes        = 32 << 20
	defaultRingAge          = 5 * time.Minute
	defaultWatcherBuffer    = 8192
	defaultWatcherBytes     = 32 << 20
	defaultBookmarkInterval = time.Minute
)

// Config configures a Cache. Store, Prefix, Decode, Attrs, WithRevision and Clock are
// required.
type Config struct {
	Store store.Store
	// Prefix is the prefix of the keys of all objects in the cache.
	Prefix string
	// Decode decodes a stored value and sets the object's resourceVersion.
	Decode func(store.KeyValue) (runtime.Object, error)
	// Attrs returns the labels and fields that selectors match. They are kept with the
	// object.
	Attrs func(runtime.Object) (labels.Set, fields.Fields)
	// WithRevision returns a copy of an object with the given resourceVersion; the copy
	// may share everything else with the object.
	WithRevision func(runtime.Object, int64) runtime.Object
	// Packed, if not nil, keeps objects as they are stored instead of decoded: they take half the
	// memory, in one piece that the garbage collector does not look into, but are decoded whenever
	// they are read. It returns the fields of a stored value, which must not refer to the object;
	// ok is false for a value in another form, whose object is kept.
	Packed func(value []byte) (set fields.Fields, ok bool)
	// BeforeEvents, if not nil, is called before the events of a batch are queued for the watchers.
	// It may wait for the writers of these events, which must not wait for the cache meanwhile.
	BeforeEvents func()
	Clock        clock.Clock
	Ledger       *clock.Ledger
	Logger       klog.Logger

	// Since is the revision after which a cache that starts later has the history, so that watches may begin
	// there, as far as the store still has it and RingSize allows. 0 means that the history begins with the
	// cache, or with the watch that starts it.
	Since int64
	// RingSize caps the number of changes kept for watches from past revisions. 0 means
	// 16384.
	RingSize int
	// RingBytes caps the bytes of the changes kept, as they are stored. Decoded and encoded,
	// they take two to four times as much memory. 0 means 32 MiB.
	RingBytes int
	// RingAge is how long changes are kept, in cluster time; the newest few hundred are
	// kept longer. 0 means 5 minutes, negative no limit.
	RingAge time.Duration
	// WatcherBuffer caps the events queued for a watcher; beyond it, the watcher is
	// ended as too slow. 0 means 8192. Initial events do not count.
	WatcherBuffer int
	// WatcherBytes caps the bytes of these events, as they are stored. 0 means 32 MiB. All
	// watchers share the memory of an event.
	WatcherBytes int
	// BookmarkInterval is the interval of bookmarks, in cluster time, for watchers that
	// asked for them; a bookmark without news is not sent. 0 means one minute.
	BookmarkInterval time.Duration
	// IndexFields are the fields by which watchers are indexed: an exact match of one
	// of them in a watcher's field selector lets the cache find the watcher of an event
	// without evaluating all selectors. Nil means metadata.name and spec.nodeName.
	IndexFields []string
}

func (cfg Config) withDefaults() Config {
	if cfg.RingSize == 0 {
		cfg.RingSize = defaultRingSize
	}
	if cfg.RingBytes == 0 {
		cfg.RingBytes = defaultRingBytes
	}
	if cfg.WatcherBytes == 0 {
		cfg.WatcherBytes = defaultWatcherBytes
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
