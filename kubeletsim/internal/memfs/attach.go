package memfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"
)

// maxAttached bounds the mounts that the processes of one container have made.
const maxAttached = 1000

// attachment is a mount that a process has made.
type attachment struct {
	mount
	// tree is a file system that ends with the mount; nil: what is mounted is elsewhere, too.
	tree *Tree
}

// mountAt returns the mount at a path. It requires the lock.
func (v *View) mountAt(at string) (mount, bool) {
	if a, ok := v.tree.attached[at]; ok {
		return a.mount, true
	}
	m, ok := v.mounts[at]
	return m, ok
}

// points lists where something is mounted. It requires the lock.
func (v *View) points() []string {
	points := slices.AppendSeq(slices.Collect(maps.Keys(v.mounts)), maps.Keys(v.tree.attached))
	slices.Sort(points)
	return slices.Compact(points)
}

// Attach mounts what is at the path from, or an empty directory if from is empty, at a path that is there. All
// views of the same root have the mount from then on, until Detach.
func (v *View) Attach(from, at string, readOnly bool) error {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	point, err := v.existing(at)
	if err != nil {
		return pathError("mount", at, err)
	}
	made := attachment{}
	if from == "" {
		made.tree = &Tree{space: v.space}
		if made.tree.root, err = v.newNode(fs.ModeDir|0o777, ""); err != nil {
			return pathError("mount", at, err)
		}
		made.tree.root.of = &made.tree.account
		made.root = made.tree.root
	} else {
		source, err := v.existing(from)
		if err != nil {
			return pathError("mount", from, err)
		}
		made.root = source.node
	}
	made.readOnly = readOnly
	switch {
	case made.root.mode.IsDir() && !point.node.walkable(), point.node.mode.IsDir() && !made.root.walkable():
		err = syscall.ENOTDIR
	case len(v.tree.attached) >= maxAttached:
		err = syscall.ENOSPC
	case point.path == "/" || v.tree.attached[point.path].root != nil:
		err = syscall.EBUSY
	}
	if err != nil {
		made.free(v.space)
		return pathError("mount", at, err)
	}
	if v.tree.attached == nil {
		v.tree.attached = map[string]attachment{}
	}
	v.tree.attached[point.path] = made
	return nil
}

// existing finds what is at a path. What may be there is made.
func (v *View) existing(name string) (found, error) {
	at, err := v.find(path.Clean(name), true)
	switch {
	case err != nil || at.node != nil:
		return at, err
	case at.unknown:
		if at, err = v.materialize(at); err == nil {
			err = v.putUnknown(at)
		}
		at.node = at.dir.children[at.base]
		return at, err
	}
	return at, syscall.ENOENT
}

// Remount makes a mount of Attach read-only, or not.
func (v *View) Remount(at string, readOnly bool) error {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	point, err := v.find(path.Clean(at), true)
	if err != nil {
		return pathError("mount", at, err)
	}
	made, ok := v.tree.attached[point.path]
	if !ok {
		return pathError("mount", at, syscall.EINVAL)
	}
	made.readOnly = readOnly
	v.tree.attached[point.path] = made
	return nil
}

// Detach ends a mount of Attach. Other mounts are busy.
func (v *View) Detach(at string) error {
	v.space.mu.Lock()
	defer v.space.mu.Unlock()
	point, err := v.find(path.Clean(at), true)
	if err == nil {
		err = point.missing()
	}
	made, ok := v.tree.attached[point.path]
	switch {
	case err != nil:
	case ok:
		delete(v.tree.attached, point.path)
		made.free(v.space)
	default:
		if err = syscall.EINVAL; v.mounts[point.path].root != nil || point.path == "/" {
			err = syscall.EBUSY
		}
	}
	return pathError("umount", at, err)
}

// free releases the bytes of a file system that is mounted nowhere any more. It requires the lock.
func (a *attachment) free(s *Space) {
	if a.tree != nil {
		s.used -= a.root.bytes()
		a.root.release()
	}
}

// detachAll ends the mounts of Attach. It requires the lock.
func (t *Tree) detachAll() {
	for _, made := range t.attached {
		made.free(t.space)
	}
	t.attached = nil
}
