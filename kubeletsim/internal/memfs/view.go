package memfs

import (
	"encoding/binary"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// errReadOnly is the error of a change in a file system that is read-only.
const errReadOnly = syscall.EROFS

const (
	// maxLinks bounds the symbolic links on one path.
	maxLinks = 40
	// maxPath bounds a path, in bytes, as on Linux.
	maxPath = 4096
)

// View is the file system that one container sees: a tree with others mounted on it.
type View struct {
	space  *Space
	tree   *Tree
	root   *node
	mounts map[string]mount
	// readOnly makes the root read-only; mounts have flags of their own.
	readOnly bool
	// payer pays for the data that is written; nil: none pays.
	payer *Payer
	// before is called before files are looked up to be read; it may be nil.
	before func()
}

// BeforeReads makes the view call do, without the space's lock, before it looks up files to be read.
func (v *View) BeforeReads(do func()) { v.before = do }

// lockToRead locks the space.
func (v *View) lockToRead() {
	if v.before != nil {
		v.before()
	}
	v.space.mu.Lock()
}

type mount struct {
	root     *node
	readOnly bool
}

// NewView returns a view of a tree.
func NewView(root *Tree) *View {
	return &View{space: root.space, tree: root, root: root.root, mounts: map[string]mount{}}
}

// Mount makes the path sub of the tree (empty: the whole tree) visible at the path at. It
// creates both directories if they are missing.
func (v *View) Mount(at string, tree *Tree, sub string, readOnly bool) {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	root := tree.root
	if trimmed := strings.Trim(path.Clean("/"+sub), "/"); trimmed != "" {
		dir, base := tree.parent(sub)
		if dir.children[base] == nil {
			dir.set(base, dir.sub(v.space, 0o755))
		}
		root = dir.children[base]
	}
	at = path.Clean("/" + at)
	if at == "/" {
		return
	}
	point := &Tree{space: v.space, root: v.root} // its account is the root's
	dir, base := point.parent(at)
	if m, ok := v.mounts[path.Dir(at)]; ok && m.root.mode.IsDir() {
		dir = m.root
	}
	if dir.children[base] == nil {
		made := v.space.newNode(root.mode.Type() | 0o755)
		dir.set(base, made)
	}
	v.mounts[at] = mount{root, readOnly}
}

// found is the result of resolving a path.
type found struct {
	dir  *node // nil for the root
	base string
	node *node // nil: there is none
	// path is the path without links.
	path     string
	readOnly bool
	// unknown means that there is no node, but may be one. beyond are the names that follow base then.
	unknown bool
	beyond  []string
}

// find walks along an absolute path. follow says whether a link at its end is
// followed. Only the last name may be missing, unless what is missing is unknown.
func (v *View) find(name string, follow bool) (found, error) {
	at := found{node: v.root, path: "/", readOnly: v.readOnly}
	if len(name) > maxPath {
		return at, syscall.ENAMETOOLONG
	}
	parts := split(name)
	if parts[0] == "" {
		return at, nil
	}
	links := 0
	for i := 0; i < len(parts); i++ {
		if at.unknown {
			at.beyond = parts[i:]
			at.path = path.Join(at.path, path.Join(parts[i:]...))
			return at, nil
		}
		if at.node == nil {
			return at, syscall.ENOENT
		}
		if !at.node.walkable() {
			return at, syscall.ENOTDIR
		}
		next := found{dir: at.node, base: parts[i], path: path.Join(at.path, parts[i]), readOnly: at.readOnly}
		next.node = at.node.children[parts[i]]
		if m, ok := v.mountAt(next.path); ok {
			next.node, next.readOnly = m.root, m.readOnly
		}
		next.unknown = next.node == nil && at.node.mayHave(parts[i])
		if next.node != nil && next.node.mode&fs.ModeSymlink != 0 && (follow || i < len(parts)-1) {
			if links++; links > maxLinks {
				return next, syscall.ELOOP
			}
			target := next.node.target
			if !path.IsAbs(target) {
				target = path.Join(at.path, target)
			}
			rest := append(split(target), parts[i+1:]...)
			if rest[0] == "" {
				rest = rest[1:]
			}
			parts, i = rest, -1
			at = found{node: v.root, path: "/", readOnly: v.readOnly}
			continue
		}
		at = next
	}
	return at, nil
}

// missing returns the error for a file that is not there, or may not be; nil if it is.
func (at *found) missing() error {
	switch {
	case at.unknown:
		return unknown.ErrFile
	case at.node == nil:
		return syscall.ENOENT
	}
	return nil
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Stat describes what is at an absolute path; Lstat does not follow a link there.
func (v *View) Stat(name string) (fs.FileInfo, error) { return v.stat("stat", name, true) }

// Lstat is Stat for a link itself.
func (v *View) Lstat(name string) (fs.FileInfo, error) { return v.stat("lstat", name, false) }

func (v *View) stat(op, name string, follow bool) (fs.FileInfo, error) {
	v.lockToRead()
	defer v.space.mu.Unlock()
	at, err := v.find(name, follow)
	if err == nil {
		err = at.missing()
	}
	if err != nil {
		return nil, pathError(op, name, err)
	}
	return at.node.info(path.Base(path.Clean("/" + name))), nil
}

// Readlink returns the target of a symbolic link.
func (v *View) Readlink(name string) (string, error) {
	v.lockToRead()
	defer v.space.mu.Unlock()
	at, err := v.find(name, false)
	if err == nil {
		err = at.missing()
	}
	switch {
	case err != nil:
	case at.node.mode&fs.ModeSymlink == 0:
		err = syscall.EINVAL
	default:
		return at.node.target, nil
	}
	return "", pathError("readlink", name, err)
}

// ReadDir lists a directory by name.
func (v *View) ReadDir(name string) ([]fs.DirEntry, error) {
	v.lockToRead()
	defer v.space.mu.Unlock()
	at, err := v.find(name, true)
	if err == nil {
		err = at.missing()
	}
	if err == nil && !at.node.walkable() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	entries := make([]fs.DirEntry, 0, len(at.node.children))
	for _, child := range at.node.names() {
		n := at.node.children[child]
		if m, ok := v.mountAt(path.Join(at.path, child)); ok {
			n = m.root
		}
		entries = append(entries, n.info(child))
	}
	return entries, nil
}

// OpenFile opens a file with the flags of os.OpenFile.
func (v *View) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	v.lockToRead()
	defer v.space.mu.Unlock()
	f, err := v.open(name, flag, perm)
	return f, pathError("open", name, err)
}

func (v *View) open(name string, flag int, perm fs.FileMode) (*File, error) {
	at, err := v.find(name, true)
	if err != nil {
		return nil, err
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	device := at.node != nil && at.node.mode&fs.ModeDevice != 0
	switch {
	case at.unknown:
		return v.openUnknown(at, flag, perm)
	case at.node == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case at.readOnly && writes && !device:
		return nil, errReadOnly
	case at.node == nil:
		if at.node, err = v.newNode(perm.Perm(), at.base); err != nil {
			return nil, err
		}
		at.dir.set(at.base, at.node)
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case at.node.mode.IsDir() && writes:
		return nil, syscall.EISDIR
	}
	if flag&os.O_TRUNC != 0 && writes && !device {
		if err := v.space.resize(at.node, 0, v.payer); err != nil {
			return nil, err
		}
	}
	return &File{space: v.space, node: at.node, name: path.Base(at.path), flag: flag, payer: v.payer}, nil
}

// newNode makes a node, for which the view's payer pays. text is its name and more.
func (v *View) newNode(mode fs.FileMode, text string) (*node, error) {
	n := v.space.newNode(mode)
	return n, n.charge(v.payer, int64(nodeBytes+len(text)))
}

// change calls do for the directory that a path leads to. If it is unknown whether the directory exists,
// it is made first.
func (v *View) change(op, name string, do func(at found) error) error {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	at, err := v.find(name, false)
	switch {
	case err != nil:
	case at.dir == nil:
		err = syscall.EBUSY
	case at.readOnly:
		err = errReadOnly
	default:
		if at, err = v.materialize(at); err == nil {
			err = do(at)
		}
	}
	return pathError(op, name, err)
}

// Mkdir makes one directory.
func (v *View) Mkdir(name string, perm fs.FileMode) error { return v.mkdir(name, perm, false) }

// mkdir is Mkdir. keeps says whether a directory that may have existed keeps its content.
func (v *View) mkdir(name string, perm fs.FileMode, keeps bool) error {
	return v.change("mkdir", name, func(at found) error {
		if at.node != nil {
			return syscall.EEXIST
		}
		dir, err := v.newNode(fs.ModeDir|perm.Perm(), at.base)
		if err != nil {
			return err
		}
		dir.partial = at.unknown && keeps
		at.dir.set(at.base, dir)
		return nil
	})
}

// MkdirAll makes a directory and those above it.
func (v *View) MkdirAll(name string, perm fs.FileMode) error {
	if len(name) > maxPath {
		return pathError("mkdir", name, syscall.ENAMETOOLONG)
	}
	name = path.Clean("/" + name)
	if at, err := v.Stat(name); err == nil {
		if at.IsDir() {
			return nil
		}
		return pathError("mkdir", name, syscall.ENOTDIR)
	}
	if err := v.MkdirAll(path.Dir(name), perm); err != nil {
		return err
	}
	return v.mkdir(name, perm, true)
}

// Symlink makes a link.
func (v *View) Symlink(target, name string) error {
	return v.change("symlink", name, func(at found) error {
		if at.node != nil {
			return syscall.EEXIST
		}
		if len(target) > maxPath {
			return syscall.ENAMETOOLONG
		}
		link, err := v.newNode(fs.ModeSymlink|0o777, at.base+target)
		if err != nil {
			return err
		}
		link.target = target
		at.dir.set(at.base, link)
		return nil
	})
}

// Remove removes a file or an empty directory.
func (v *View) Remove(name string) error { return v.remove(name, false) }

// RemoveAll removes a file or a directory with all that is in it.
func (v *View) RemoveAll(name string) error { return v.remove(name, true) }

func (v *View) remove(name string, all bool) error {
	return v.change("remove", name, func(at found) error {
		switch {
		case at.unknown:
			at.dir.forgo(at.base)
			return nil
		case at.node == nil:
			return syscall.ENOENT
		case v.busy(at.path):
			return syscall.EBUSY
		case len(at.node.children) > 0 && !all:
			return syscall.ENOTEMPTY
		}
		v.space.used -= at.node.bytes()
		at.node.forget()
		at.node.release()
		delete(at.dir.children, at.base)
		at.dir.forgo(at.base)
		at.dir.modified = v.space.now()
		return nil
	})
}

// busy reports whether something is mounted at or beneath a path.
func (v *View) busy(name string) bool {
	for _, at := range v.points() {
		if at == name || strings.HasPrefix(at, name+"/") {
			return true
		}
	}
	return false
}

// Rename moves a file or a directory.
func (v *View) Rename(from, to string) error {
	return v.change("rename", from, func(at found) error {
		target, err := v.find(to, false)
		if err == nil && !target.readOnly {
			target, err = v.materialize(target)
		}
		switch {
		case err != nil:
			return err
		case at.unknown && target.dir != nil && !target.readOnly && target.node == nil:
			at.dir.forgo(at.base)
			return v.putUnknown(target)
		case at.unknown:
			return unknown.ErrFile
		case at.node == nil:
			return syscall.ENOENT
		case target.dir == nil || v.busy(at.path) || v.busy(target.path):
			return syscall.EBUSY
		case target.readOnly:
			return errReadOnly
		case strings.HasPrefix(target.path+"/", at.path+"/"):
			if target.path == at.path {
				return nil
			}
			return syscall.EINVAL
		case target.node != nil && target.node.mode.IsDir():
			return syscall.EEXIST
		case target.node != nil:
			v.space.used -= target.node.bytes()
			target.node.forget()
			target.node.release()
		}
		if at.dir.of != target.dir.of {
			at.node.moveTo(target.dir.of)
		}
		delete(at.dir.children, at.base)
		at.dir.forgo(at.base)
		at.dir.modified = v.space.now()
		target.dir.children[target.base] = at.node
		delete(target.dir.absent, target.base)
		target.dir.modified = v.space.now()
		return nil
	})
}

// Chmod changes permissions; Chtimes the time of the last change.
func (v *View) Chmod(name string, perm fs.FileMode) error {
	return v.changeNode("chmod", name, func(n *node) { n.mode = n.mode.Type() | perm.Perm() })
}

// Chtimes changes the time of the last change.
func (v *View) Chtimes(name string, modified time.Time) error {
	return v.changeNode("chtimes", name, func(n *node) { n.modified = modified })
}

func (v *View) changeNode(op, name string, do func(n *node)) error {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	at, err := v.find(name, true)
	switch {
	case err != nil:
	case at.readOnly:
		err = errReadOnly
	case at.node == nil:
		err = at.missing()
	default:
		do(at.node)
	}
	return pathError(op, name, err)
}

// MountPoints lists where something is mounted.
func (v *View) MountPoints() []string {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	return v.points()
}

// File is an open file.
type File struct {
	space *Space
	node  *node
	name  string
	flag  int
	at    int64
	payer *Payer
	// assumed is the result of Assumed.
	assumed bool
	// random is the source of a random device; nil until it is read.
	random *rand.ChaCha8
}

// randomize fills p with random bytes, which follow from the time at which the reading began.
func (f *File) randomize(p []byte) {
	if f.random == nil {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(f.space.now().UnixNano()))
		f.space.drawn++
		binary.LittleEndian.PutUint64(seed[8:], f.space.drawn)
		f.random = rand.NewChaCha8(seed)
	}
	_, _ = f.random.Read(p) // it has no error
}

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	return f.node.info(f.name), nil
}

// Read reads on from where the last one ended.
func (f *File) Read(p []byte) (int, error) {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	switch {
	case f.node.mode.IsDir():
		return 0, pathError("read", f.name, syscall.EISDIR)
	case f.node.mode&fs.ModeDevice != 0:
		switch f.name {
		case "zero":
			clear(p)
			return len(p), nil
		case "random", "urandom":
			f.randomize(p)
			return len(p), nil
		}
		return 0, io.EOF
	case f.flag&os.O_WRONLY != 0:
		return 0, pathError("read", f.name, syscall.EBADF)
	case f.at >= int64(len(f.node.data)):
		return 0, io.EOF
	}
	n := copy(p, f.node.data[f.at:])
	f.at += int64(n)
	return n, nil
}

// Write writes where the last one ended, or at the end.
func (f *File) Write(p []byte) (int, error) {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	switch {
	case f.flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return 0, pathError("write", f.name, syscall.EBADF)
	case f.node.mode&fs.ModeDevice != 0:
		if f.name == "full" {
			return 0, pathError("write", f.name, syscall.ENOSPC)
		}
		return len(p), nil
	}
	size := int64(len(f.node.data))
	if f.flag&os.O_APPEND != 0 {
		f.at = size
	}
	if end := f.at + int64(len(p)); end > size {
		if err := f.space.resize(f.node, end, f.payer); err != nil {
			return 0, pathError("write", f.name, err)
		}
	} else {
		f.node.modified = f.space.now()
		f.node.count()
	}
	copy(f.node.data[f.at:], p)
	f.at += int64(len(p))
	return len(p), nil
}

// Close ends the use of the file.
func (f *File) Close() error { return nil }

// Resolve returns the path of name without symbolic links.
func (v *View) Resolve(name string) (string, error) {
	v.lockToRead()
	defer v.space.mu.Unlock()
	at, err := v.find(name, true)
	if err == nil {
		err = at.missing()
	}
	return at.path, pathError("realpath", name, err)
}

// Usage returns how many bytes the view's space holds, and its limit.
func (v *View) Usage() (used, limit int64) {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	return v.space.used, v.space.limit
}

// MakeReadOnly rejects all changes except in mounts.
func (v *View) MakeReadOnly() {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	v.readOnly = true
}

// ReadFile reads a file at once.
func (v *View) ReadFile(name string) ([]byte, error) {
	f, err := v.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
