//go:build linux

package powercut

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// disk is a mounted file system whose power can be cut. A directory holds its files.
type disk struct {
	backing string
	journal *journal
	faults  *faults
	server  *fuse.Server
}

// mount mounts the files of backing at point.
func mount(backing, point string) (*disk, error) {
	d := &disk{backing: backing, journal: newJournal(), faults: &faults{}}
	root := &fs.LoopbackRoot{Path: backing}
	root.NewNode = func(root *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return &node{LoopbackNode: fs.LoopbackNode{RootData: root}, disk: d}
	}
	top := &node{LoopbackNode: fs.LoopbackNode{RootData: root}, disk: d}
	root.RootNode = top
	server, err := fs.Mount(point, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "powercut"}})
	if err != nil {
		return nil, fmt.Errorf("mounting a file system at %s: %w", point, err)
	}
	d.server = server
	return d, nil
}

// unmount ends the file system and takes back what was not synced, or with chance a random
// part of it. Nothing may have files open.
func (d *disk) unmount(chance *rand.Rand) error {
	if err := d.server.Unmount(); err != nil {
		return fmt.Errorf("unmounting: %w", err)
	}
	d.server.Wait()
	return d.journal.takeBack(d.backing, chance)
}

// node is a file or directory.
type node struct {
	fs.LoopbackNode
	disk *disk
}

func (n *node) path() string { return filepath.Join(n.RootData.Path, n.Path(n.Root())) }

// Open implements fs.NodeOpener.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		if no := n.truncate(0); no != 0 {
			return nil, 0, no
		}
		flags &^= syscall.O_TRUNC
	}
	return n.opened(n.path(), flags, 0)
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, handle, fuseFlags, no := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if no != 0 {
		return nil, nil, 0, no
	}
	if releaser, ok := handle.(fs.FileReleaser); ok {
		_ = releaser.Release(ctx)
	}
	handle, _, no = n.opened(filepath.Join(n.path(), name), flags&^(syscall.O_CREAT|syscall.O_EXCL|syscall.O_TRUNC), mode)
	if no != 0 {
		return nil, nil, 0, no
	}
	n.disk.journal.created(handle.(*openFile).fd)
	return inode, handle, fuseFlags, 0
}

// opened opens a file for reading, too: what a write replaces has to be read.
func (n *node) opened(path string, flags, mode uint32) (fs.FileHandle, uint32, syscall.Errno) {
	flags &^= syscall.O_APPEND
	if flags&syscall.O_ACCMODE == syscall.O_WRONLY {
		flags = flags&^syscall.O_ACCMODE | syscall.O_RDWR
	}
	fd, err := syscall.Open(path, int(flags), mode)
	if err != nil {
		return nil, 0, errno(err)
	}
	return &openFile{LoopbackFile: fs.NewLoopbackFile(fd).(*fs.LoopbackFile), fd: fd, name: filepath.Base(path), disk: n.disk}, 0, 0
}

// Setattr implements fs.NodeSetattrer.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	size, sized := in.GetSize()
	if !sized {
		return n.LoopbackNode.Setattr(ctx, f, in, out)
	}
	if no := n.truncate(int64(size)); no != 0 {
		return no
	}
	in.Valid &^= fuse.FATTR_SIZE
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}

func (n *node) truncate(size int64) syscall.Errno {
	fd, err := syscall.Open(n.path(), syscall.O_RDWR, 0)
	if err != nil {
		return errno(err)
	}
	defer syscall.Close(fd)
	return n.disk.journal.truncate(fd, size, func() syscall.Errno { return fs.ToErrno(syscall.Ftruncate(fd, size)) })
}

// CopyFileRange implements fs.NodeCopyFileRanger: the kernel copies with reads and writes.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

// openFile records what is written.
type openFile struct {
	*fs.LoopbackFile
	fd   int
	name string
	disk *disk
}

// PassthroughFd implements fs.FilePassthroughFder: the kernel must not bypass the journal.
func (f *openFile) PassthroughFd() (int, bool) { return 0, false }

// Write implements fs.FileWriter.
func (f *openFile) Write(ctx context.Context, data []byte, off int64) (n uint32, no syscall.Errno) {
	data, no = f.disk.faults.written(f.name, data)
	if no != 0 {
		return 0, no
	}
	no = f.disk.journal.change(f.fd, off, off+int64(len(data)), func() syscall.Errno {
		var failed syscall.Errno
		n, failed = f.LoopbackFile.Write(ctx, data, off)
		return failed
	})
	return n, no
}

// Allocate implements fs.FileAllocater.
func (f *openFile) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	return f.disk.journal.change(f.fd, int64(off), int64(off), func() syscall.Errno { return f.LoopbackFile.Allocate(ctx, off, size, mode) })
}

// Fsync implements fs.FileFsyncer. The backing directory is only a model of a disk: it need not
// be synced itself.
func (f *openFile) Fsync(context.Context, uint32) syscall.Errno {
	if f.disk.faults.affects(fsync, f.name) {
		f.disk.journal.syncFailed(f.fd)
		return syscall.EIO
	}
	return f.disk.journal.sync(f.fd, func() syscall.Errno { return 0 })
}
