package encodings

import (
	"bytes"
	"container/list"
	"sync"

	"minikcm.dev/minikcm/apiserver/internal/deflate"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
)

const (
	// part is the part of the memory limit that is used at most.
	part = 16
	// largest and unlimited bound the bytes with a large memory limit, and without one.
	largest, unlimited = 256 << 20, 64 << 20
	// runBytes is about the memory that a run takes besides its encoding.
	runBytes = 256
)

// Kept is the runs of all lists of a server. All methods are safe for concurrent use.
type Kept struct {
	limit int64

	mu    sync.Mutex
	runs  map[key]*list.Element // of *run
	order *list.List            // the most recently used first
	bytes int64
}

// key finds a run, before the entries of the run are compared.
type key struct {
	form       string
	from       string // key of the first entry
	count      int
	isFirst    bool // of its list
	compressed bool
}

// run is the entry of a key. Without plain and part, it only records that the run was asked for.
type run struct {
	key   key
	ids   []uint64
	plain []byte
	part  *deflate.Part
}

func (r *run) size() int64 {
	size := runBytes + 8*len(r.ids) + len(r.plain)
	if r.part != nil {
		size += r.part.Size()
	}
	return int64(size)
}

// New returns an empty Kept for a process that may use memory bytes; 0 is no limit.
func New(memory uint64) *Kept {
	limit := int64(unlimited)
	if memory > 0 {
		limit = int64(min(memory/part, largest))
	}
	return &Kept{limit: limit, runs: map[key]*list.Element{}, order: list.New()}
}

// Limit returns the most bytes that are kept.
func (k *Kept) Limit() int64 { return k.limit }

// Bytes returns the bytes that are kept.
func (k *Kept) Bytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// Trim drops everything.
func (k *Kept) Trim() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.runs)
	k.order.Init()
	k.bytes = 0
}

// find returns the encoding of a run, or nil.
func (k *Kept) find(at key, entries []*watchcache.Entry) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.runs[at]
	if !ok {
		return nil
	}
	r := e.Value.(*run)
	if r.plain == nil && r.part == nil || !same(r.ids, entries) {
		return nil
	}
	k.order.MoveToFront(e)
	return r
}

func same(ids []uint64, entries []*watchcache.Entry) bool {
	for i, e := range entries {
		if ids[i] != e.ID() {
			return false
		}
	}
	return true
}

// offer keeps an encoding if the same run was offered before.
func (k *Kept) offer(at key, entries []*watchcache.Entry, plain []byte, part *deflate.Part) {
	r := &run{key: at, ids: make([]uint64, len(entries))}
	for i, e := range entries {
		r.ids[i] = e.ID()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.runs[at]; ok {
		if same(e.Value.(*run).ids, entries) {
			r.plain, r.part = bytes.Clone(plain), part
		}
		k.drop(e)
	}
	if r.size() > k.limit/4 {
		return
	}
	k.bytes += r.size()
	k.runs[at] = k.order.PushFront(r)
	for k.bytes > k.limit {
		k.drop(k.order.Back())
	}
}

func (k *Kept) drop(e *list.Element) {
	r := k.order.Remove(e).(*run)
	delete(k.runs, r.key)
	k.bytes -= r.size()
}
