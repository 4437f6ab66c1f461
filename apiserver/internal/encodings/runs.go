package encodings

import (
	"minikcm.dev/minikcm/apiserver/internal/deflate"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
)

const (
	// runItems is how many items a run has on average, if they are small.
	runItems = 32
	// runStored ends a run whose items take this many bytes as they are stored.
	runStored = 48 << 10
)

// Runs are the runs of one list, in one form.
type Runs struct {
	kept    *Kept
	form    string
	entries []*watchcache.Entry
}

// Of returns the runs of a list of entries. Lists with the same form encode the same entries as
// the same bytes.
func (k *Kept) Of(form string, entries []*watchcache.Entry) *Runs {
	return &Runs{kept: k, form: form, entries: entries}
}

// End returns the end of the run that starts with item i.
func (r *Runs) End(i int) int {
	size := 0
	for ; i < len(r.entries); i++ {
		size += r.entries[i].Size()
		if size >= runStored || hash(r.entries[i].Key)%runItems == 0 {
			return i + 1
		}
	}
	return i
}

// hash is FNV-1a, whose low bits are mixed.
func hash(key string) uint32 {
	sum := uint32(2166136261)
	for i := range len(key) {
		sum = (sum ^ uint32(key[i])) * 16777619
	}
	return sum ^ sum>>16
}

func (r *Runs) key(i, end int, compressed bool) key {
	return key{form: r.form, from: r.entries[i].Key, count: end - i, isFirst: i == 0, compressed: compressed}
}

// Plain returns the encoding of the items from i to end, which must not be modified; encode
// makes it if it is not kept.
func (r *Runs) Plain(i, end int, encode func() ([]byte, error)) ([]byte, error) {
	at := r.key(i, end, false)
	if found := r.kept.find(at, r.entries[i:end]); found != nil {
		return found.plain, nil
	}
	plain, err := encode()
	if err != nil {
		return nil, err
	}
	r.kept.offer(at, r.entries[i:end], plain, nil)
	return plain, nil
}

// Compressed is Plain for the compressed encoding.
func (r *Runs) Compressed(i, end int, encode func() ([]byte, error)) (*deflate.Part, error) {
	at := r.key(i, end, true)
	if found := r.kept.find(at, r.entries[i:end]); found != nil {
		return found.part, nil
	}
	plain, err := encode()
	if err != nil {
		return nil, err
	}
	part, err := deflate.Compress(plain)
	if err != nil {
		return nil, err
	}
	r.kept.offer(at, r.entries[i:end], nil, part)
	return part, nil
}

// Len returns the length of the encoding of the items from i to end, if it is kept.
func (r *Runs) Len(i, end int) (n int, ok bool) {
	for _, compressed := range []bool{true, false} {
		if found := r.kept.find(r.key(i, end, compressed), r.entries[i:end]); found != nil {
			if compressed {
				return found.part.Len(), true
			}
			return len(found.plain), true
		}
	}
	return 0, false
}
