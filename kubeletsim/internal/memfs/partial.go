package memfs

import (
	"io/fs"
	"os"
	"path"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxAbsent bounds the names that are remembered as absent from one directory.
const maxAbsent = 1000

// NewPartialTree returns an empty directory that may have entries which are not known, as may the
// directories that Put and PutDir make in it.
func (s *Space) NewPartialTree(perm fs.FileMode) *Tree {
	t := s.NewTree(perm)
	t.root.partial = true
	return t
}

// Obscure makes the directory one that may have entries which are not known.
func (t *Tree) Obscure() {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	t.root.partial = true
}

// PutCompleteDir is PutDir for a directory whose entries are all known.
func (t *Tree) PutCompleteDir(name string, perm fs.FileMode) {
	t.PutDir(name, perm)
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	dir, base := t.parent(name)
	dir.children[base].partial = false
}

// sub returns a directory to be made in n, about which as much is known as about n.
func (n *node) sub(s *Space, perm fs.FileMode) *node {
	dir := s.newNode(fs.ModeDir | perm.Perm())
	dir.partial = n.partial
	return dir
}

// mayHave reports whether a directory, or a file of unknown type, may have an entry that is not among its
// children.
func (n *node) mayHave(name string) bool {
	return unknown.In(name) || n.partial && !n.absent[name]
}

// forgo records that an entry is absent.
func (n *node) forgo(name string) {
	if !n.partial || len(n.absent) >= maxAbsent {
		return
	}
	if n.absent == nil {
		n.absent = map[string]bool{}
	}
	n.absent[name] = true
}

// materialize makes the directories above a file that is unknown, which are unknown in the same way, and
// returns the place of the file in them. It requires the lock.
func (v *View) materialize(at found) (found, error) {
	for len(at.beyond) > 0 {
		dir, err := v.newNode(fs.ModeDir|0o755, at.base)
		if err != nil {
			return at, err
		}
		dir.partial = true
		at.dir.set(at.base, dir)
		at.dir, at.base, at.beyond = dir, at.beyond[0], at.beyond[1:]
	}
	return at, nil
}

// Partial reports whether a directory may have entries that ReadDir does not list.
func (v *View) Partial(name string) bool {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	at, err := v.find(name, true)
	return err == nil && (at.unknown || at.node != nil && at.node.partial)
}

// Obscure makes the content of a directory unknown in part, or what is at a path that does not exist. A file
// stays as it is.
func (v *View) Obscure(name string) error {
	return pathError("obscure", name, func() error {
		v.space.mu.Lock()
		defer v.space.mu.Unlock()
		at, err := v.find(name, true)
		switch {
		case err != nil:
			return err
		case at.readOnly || at.unknown:
		case at.node == nil:
			return v.putUnknown(at)
		case at.node.mode.IsDir():
			at.node.partial, at.node.absent = true, nil
		}
		return nil
	}())
}

// PutUnknown makes a file or directory of which only the name is known.
func (v *View) PutUnknown(name string) error {
	return v.change("create", name, func(at found) error {
		if at.node != nil {
			at.node.forget()
			v.space.used -= at.node.bytes()
			at.node.release()
		}
		return v.putUnknown(at)
	})
}

func (v *View) putUnknown(at found) error {
	n, err := v.newNode(fs.ModeIrregular|0o755, at.base)
	if err != nil {
		return err
	}
	n.partial, n.children = true, map[string]*node{}
	n.data = []byte(unknown.Line)
	v.space.used += int64(len(n.data))
	at.dir.set(at.base, n)
	return nil
}

// openUnknown opens a file that may be there. What is written into it follows unknown content, unless it
// is truncated. It requires the lock.
func (v *View) openUnknown(at found, flag int, perm fs.FileMode) (*File, error) {
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	file := &node{mode: 0o755, data: []byte(unknown.Line), modified: v.space.now()}
	if flag&os.O_CREATE != 0 && !at.readOnly {
		place, err := v.materialize(at)
		if err != nil {
			return nil, err
		}
		if file, err = v.newNode(perm.Perm(), place.base); err != nil {
			return nil, err
		}
		if flag&os.O_TRUNC == 0 {
			file.data = []byte(unknown.Line)
			v.space.used += int64(len(file.data))
		}
		place.dir.set(place.base, file)
	} else if writes && at.readOnly {
		return nil, errReadOnly
	}
	return &File{space: v.space, node: file, name: path.Base(at.path), flag: flag, payer: v.payer, assumed: flag&os.O_TRUNC == 0}, nil
}

// Assumed reports whether it is unknown that the file was there when it was opened.
func (f *File) Assumed() bool { return f.assumed }

// unknownType reports whether only the node's name is known.
func (n *node) unknownType() bool { return n.mode&fs.ModeIrregular != 0 }

// walkable reports whether a node is, or may be, a directory.
func (n *node) walkable() bool { return n.mode.IsDir() || n.unknownType() }
