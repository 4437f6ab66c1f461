package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// maxDepth limits the levels of a bucket's tree; each has at least two children per page.
const maxDepth = 64

// Item is a key of a bucket. Its slices are valid during the call only.
type Item struct {
	Bucket     string
	Page       uint64
	Key, Value []byte
}

// Damage is a page that cannot be read whole.
type Damage struct {
	// Bucket is the bucket whose page it is, empty if it has none.
	Bucket string
	Page   uint64
	Err    error
}

func (d Damage) Error() string {
	if d.Bucket == "" {
		return fmt.Sprintf("page %d: %v", d.Page, d.Err)
	}
	return fmt.Sprintf("page %d (bucket %q): %v", d.Page, d.Bucket, d.Err)
}

// Visitor receives the content of a database.
type Visitor struct {
	// Bucket is called before the bucket's items. Nil means no call.
	Bucket func(name string)
	// Item is called in the order of keys. Its error ends the walk.
	Item func(Item) error
	// Damage is called for each page that cannot be read whole; the walk continues with
	// the next page if it returns nil.
	Damage func(Damage) error
}

// Walk visits all keys of all buckets. It checks all that bbolt relies on: which page each
// reference names, that no page is used twice or free and used, and the order of the keys.
// It returns the visitor's error.
func (f *File) Walk(v Visitor) error {
	w := &walk{file: f, visitor: v, used: make([]uint64, f.meta.end/64+1)}
	w.claim(0, 0)
	w.claim(1, 0)
	if err := w.tree(f.meta.root, "", 0, nil, nil, w.bucket); err != nil {
		return err
	}
	return w.freelist()
}

// walk is one pass over a database.
type walk struct {
	file    *File
	visitor Visitor
	used    []uint64 // a bit for each page
	// buffers hold the pages between the root and the visited page, one a level.
	buffers [][]byte
	level   int
}

// damage reports the damage of a page.
func (w *walk) damage(bucket string, page uint64, format string, args ...any) error {
	return w.visitor.Damage(Damage{Bucket: bucket, Page: page, Err: fmt.Errorf(format, args...)})
}

// claim marks a page and its overflow pages as used, and returns false if one was before.
func (w *walk) claim(id uint64, overflow uint32) bool {
	free := true
	for page := id; page <= id+uint64(overflow); page++ {
		free = free && w.used[page/64]&(1<<(page%64)) == 0
		w.used[page/64] |= 1 << (page % 64)
	}
	return free
}

// tree visits a page of a bucket and all pages beneath it. Its keys are from low and below
// high; nil means no bound.
func (w *walk) tree(id uint64, bucket string, depth int, low, high []byte, leaf func(page uint64, bucket string, e leafElement) error) error {
	head, page, err := w.enter(id)
	defer func() { w.level-- }()
	switch {
	case err != nil:
		return w.damage(bucket, id, "%w", err)
	case depth > maxDepth:
		return w.damage(bucket, id, "it is beneath %d others", depth)
	case !w.claim(id, head.overflow):
		return w.damage(bucket, id, "another reference uses it or its overflow pages")
	case head.flags == flagLeaf:
		return w.leaf(id, bucket, head, page, low, high, leaf)
	case head.flags != flagBranch:
		return w.damage(bucket, id, "it is neither a branch nor a leaf (flags %#x)", head.flags)
	}
	children, err := readBranch(head, page)
	if err != nil {
		return w.damage(bucket, id, "%w", err)
	}
	if !within(children[0].key, low, nil) || !within(children[len(children)-1].key, nil, high) {
		return w.damage(bucket, id, "its keys are not those that its parent expects")
	}
	for i, child := range children {
		childHigh := high
		if i+1 < len(children) {
			childHigh = children[i+1].key
		}
		if err := w.tree(child.page, bucket, depth+1, child.key, childHigh, leaf); err != nil {
			return err
		}
	}
	return nil
}

// enter reads a page into the buffer of the next level.
func (w *walk) enter(id uint64) (header, []byte, error) {
	if w.level == len(w.buffers) {
		w.buffers = append(w.buffers, nil)
	}
	head, page, err := w.file.run(id, w.buffers[w.level])
	if err == nil {
		w.buffers[w.level] = page
	}
	w.level++
	return head, page, err
}

// leaf visits the elements of a leaf page.
func (w *walk) leaf(id uint64, bucket string, head header, page, low, high []byte, visit func(uint64, string, leafElement) error) error {
	elements, damage := readLeaf(head, page)
	if n := len(elements); damage == nil && n > 0 && (!within(elements[0].key, low, nil) || !within(elements[n-1].key, nil, high)) {
		damage = fmt.Errorf("its keys are not those that its parent expects")
	}
	for _, e := range elements {
		if err := visit(id, bucket, e); err != nil {
			return err
		}
	}
	if damage != nil {
		return w.damage(bucket, id, "%w", damage)
	}
	return nil
}

func within(key, low, high []byte) bool {
	return (low == nil || bytes.Compare(key, low) >= 0) && (high == nil || bytes.Compare(key, high) < 0)
}

// bucket visits a bucket, which is an element of the root's tree: its root page, or the page
// within the element if it is small.
func (w *walk) bucket(page uint64, _ string, e leafElement) error {
	name := string(e.key)
	if e.flags != flagBucket || len(e.value) < bucketSize {
		return w.damage("", page, "%q is not a bucket", name)
	}
	if w.visitor.Bucket != nil {
		w.visitor.Bucket(name)
	}
	if root := binary.NativeEndian.Uint64(e.value); root != 0 {
		return w.tree(root, name, 0, nil, nil, w.item)
	}
	inline := e.value[bucketSize:]
	if len(inline) < headerSize {
		return w.damage(name, page, "the bucket within it is too short")
	}
	head := readHeader(inline)
	if head.id != 0 || head.flags != flagLeaf || head.overflow != 0 {
		return w.damage(name, page, "the header of the bucket within it is damaged")
	}
	return w.leaf(page, name, head, inline, nil, nil, w.item)
}

// item visits a key of a bucket.
func (w *walk) item(page uint64, bucket string, e leafElement) error {
	if e.flags != 0 {
		return w.damage(bucket, page, "the flags of key %q are %#x", e.key, e.flags)
	}
	return w.visitor.Item(Item{Bucket: bucket, Page: page, Key: e.key, Value: e.value})
}

// freelist checks the stored list of free pages, if there is one, after all used pages are
// known.
func (w *walk) freelist() error {
	id := w.file.meta.freelist
	if id == noFreelist {
		return nil
	}
	head, page, err := w.file.run(id, nil)
	switch {
	case err != nil:
		return w.damage("", id, "the freelist: %w", err)
	case head.flags != flagFreelist:
		return w.damage("", id, "it is not a freelist (flags %#x)", head.flags)
	case !w.claim(id, head.overflow):
		return w.damage("", id, "it is the freelist, and a bucket uses it")
	}
	ids, count := page[headerSize:], uint64(head.count)
	if head.count == 0xFFFF && len(ids) >= 8 {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return w.damage("", id, "the freelist claims %d pages", count)
	}
	for i := range count {
		free := binary.NativeEndian.Uint64(ids[i*8:])
		if free < 2 || free >= w.file.meta.end {
			return w.damage("", id, "the freelist names page %d", free)
		}
		if !w.claim(free, 0) {
			return w.damage("", id, "the freelist names page %d, which is in use or named twice", free)
		}
	}
	return nil
}
