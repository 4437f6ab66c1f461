package memfs

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// DefaultLimit is the default limit of the content of a Space, in bytes.
const DefaultLimit = 256 << 20

// Space holds trees. Its methods, and the methods of all trees, views and files in it, may be
// called concurrently.
type Space struct {
	mu    sync.Mutex
	now   func() time.Time
	limit int64
	used  int64
	// drawn counts the sources of random bytes.
	drawn uint64
}

// NewSpace returns a space whose files get their times from now. A limit of 0 is DefaultLimit;
// a write beyond the limit fails with ENOSPC.
func NewSpace(now func() time.Time, limit int64) *Space {
	if limit == 0 {
		limit = DefaultLimit
	}
	return &Space{now: now, limit: limit}
}

// Tree is a directory with its content.
type Tree struct {
	space *Space
	root  *node
	account
	// attached are the mounts that processes of the container with this root have made, by path.
	attached map[string]attachment
}

// NewTree returns an empty directory with the given permissions.
func (s *Space) NewTree(perm fs.FileMode) *Tree {
	t := &Tree{space: s, root: s.newNode(fs.ModeDir | perm.Perm())}
	t.root.of = &t.account
	return t
}

// Free releases the bytes of a tree that is no longer used.
func (t *Tree) Free() {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	t.space.used -= t.root.bytes()
	t.root.release()
	t.root.children = nil
	t.account = account{}
	t.detachAll()
}

// Replace gives a tree the content of another one, which must not be used any more. What is open keeps its content. It reports
// whether anything has changed; if not, the files keep their times.
func (t *Tree) Replace(by *Tree) bool {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	old, fresh := t.root, by.root
	if old.equal(fresh) {
		t.space.used -= fresh.bytes()
		return false
	}
	t.space.used -= old.bytes()
	for _, child := range old.children {
		child.forget()
		child.release()
	}
	old.children, old.partial, old.absent, old.modified = fresh.children, fresh.partial, fresh.absent, fresh.modified
	for _, child := range old.children {
		child.moveTo(old.of)
	}
	return true
}

// equal reports whether two nodes have the same content, whatever their times are.
func (n *node) equal(other *node) bool {
	return n.mode == other.mode && n.target == other.target && n.partial == other.partial && bytes.Equal(n.data, other.data) &&
		maps.EqualFunc(n.children, other.children, (*node).equal)
}

// Put creates or replaces a file and creates its directories; path is relative to the tree's
// root. It ignores the limit.
func (t *Tree) Put(name string, perm fs.FileMode, data []byte) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	dir, base := t.parent(name)
	file := t.space.newNode(perm.Perm())
	file.data = slices.Clone(data)
	t.space.used += int64(len(data))
	if old := dir.children[base]; old != nil {
		t.space.used -= old.bytes()
		old.forget()
		old.release()
	}
	dir.set(base, file)
}

// PutDir makes a directory with its parents, if it is not there.
func (t *Tree) PutDir(name string, perm fs.FileMode) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	dir, base := t.parent(name)
	if dir.children[base] == nil {
		dir.set(base, dir.sub(t.space, perm))
	}
}

// PutDevice makes one of the devices that a view knows.
func (t *Tree) PutDevice(name string) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	dir, base := t.parent(name)
	dir.set(base, t.space.newNode(fs.ModeDevice|fs.ModeCharDevice|0o666))
}

// Link makes a symbolic link.
func (t *Tree) Link(name, target string) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	dir, base := t.parent(name)
	link := t.space.newNode(fs.ModeSymlink | 0o777)
	link.target = target
	dir.set(base, link)
}

// parent makes the directories above name.
func (t *Tree) parent(name string) (*node, string) {
	parts := split(name)
	dir := t.root
	for _, part := range parts[:len(parts)-1] {
		child := dir.children[part]
		if child == nil || !child.mode.IsDir() {
			child = dir.sub(t.space, 0o755)
			dir.set(part, child)
		}
		dir = child
	}
	return dir, parts[len(parts)-1]
}

func split(name string) []string {
	return strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/")
}

// node is a file, a directory or a link.
type node struct {
	mode     fs.FileMode
	modified time.Time
	data     []byte
	target   string
	children map[string]*node
	// partial means that a directory may have entries that are not among children, except for absent.
	partial bool
	absent  map[string]bool
	// charged is the number of bytes that were reserved for the node; release gives them back.
	charged int64
	payer   *Payer
	// of is the account of the tree that the node is in, and written the number of bytes that it
	// counts for the node.
	of      *account
	written int64
}

func (s *Space) newNode(mode fs.FileMode) *node {
	n := &node{mode: mode, modified: s.now()}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	return n
}

func (n *node) set(name string, child *node) {
	n.children[name] = child
	delete(n.absent, name)
	child.of = n.of
	n.modified = child.modified
}

func (n *node) bytes() int64 {
	sum := int64(len(n.data))
	for _, child := range n.children {
		sum += child.bytes()
	}
	return sum
}

// resize changes the length of a file, for which payer pays.
func (s *Space) resize(n *node, size int64, payer *Payer) error {
	grown := size - int64(len(n.data))
	if s.used+grown > s.limit || !n.of.holds(grown) {
		return syscall.ENOSPC
	}
	switch {
	case size <= int64(cap(n.data)):
		old := int64(len(n.data))
		if n.data = n.data[:size]; size > old {
			clear(n.data[old:])
		}
		if size == 0 {
			if err := n.charge(payer, nodeBytes); err != nil {
				return err
			}
			n.data = nil
		}
	default:
		room := max(size, int64(cap(n.data))*5/4)
		if err := n.charge(payer, room+nodeBytes); err != nil {
			return err
		}
		n.data = append(make([]byte, 0, room), n.data...)[:size]
	}
	s.used += grown
	n.modified = s.now()
	n.count()
	return nil
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// info is the result of Stat.
type info struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
	target   string
}

func (n *node) info(name string) info {
	i := info{name: name, size: int64(len(n.data)), mode: n.mode, modified: n.modified, target: n.target}
	switch {
	case n.mode.IsDir():
		i.size = 4096
	case n.target != "":
		i.size = int64(len(n.target))
	}
	return i
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) ModTime() time.Time         { return i.modified }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
