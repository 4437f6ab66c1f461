//go:build linux

package powercut

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// pageSize is the unit in which a disk writes.
const pageSize = 4096

// undo holds the durable state of one file, to which a power cut may take it back.
type undo struct {
	// size is the durable size of the file.
	size int64
	// pages are the durable contents of the pages that were written since the last fsync, by
	// number; shorter than a page, or empty, where the file ended.
	pages map[int64][]byte
	// failed means that an fsync of the file has failed: no later one makes anything of the
	// file durable.
	failed bool
}

// journal holds the changes that a power cut takes back, by inode. After a cut, nothing can be
// written.
type journal struct {
	mu    sync.Mutex
	files map[uint64]*undo
	cut   bool
	// Statistics of the last cut.
	droppedPages, keptPages, droppedFiles int
}

func newJournal() *journal { return &journal{files: map[uint64]*undo{}} }

// change calls apply, which changes the bytes from off to end of the file, after recording
// what is durable of them. It returns EIO after the cut.
func (j *journal) change(fd int, off, end int64, apply func() syscall.Errno) syscall.Errno {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cut {
		return syscall.EIO
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return errno(err)
	}
	u := j.files[stat.Ino]
	if u == nil {
		u = &undo{size: stat.Size, pages: map[int64][]byte{}}
		j.files[stat.Ino] = u
	}
	for page := off / pageSize; page*pageSize < end; page++ {
		if _, known := u.pages[page]; known {
			continue
		}
		before := make([]byte, max(0, min(pageSize, u.size-page*pageSize)))
		if _, err := syscall.Pread(fd, before, page*pageSize); err != nil {
			return errno(err)
		}
		u.pages[page] = before
	}
	return apply()
}

// truncate is change for a new size.
func (j *journal) truncate(fd int, size int64, apply func() syscall.Errno) syscall.Errno {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return errno(err)
	}
	return j.change(fd, min(size, stat.Size), stat.Size, apply)
}

// sync makes the file durable by apply.
func (j *journal) sync(fd int, apply func() syscall.Errno) syscall.Errno {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cut {
		return syscall.EIO
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return errno(err)
	}
	if u := j.files[stat.Ino]; u == nil || !u.failed {
		delete(j.files, stat.Ino)
	}
	return apply()
}

// syncFailed records that an fsync of the file has failed. The kernel then takes the pages for
// clean, although they are not durable; a program must not go on as if a later fsync had
// written them.
func (j *journal) syncFailed(fd int) {
	_ = j.change(fd, 0, 0, func() syscall.Errno {
		var stat syscall.Stat_t
		if err := syscall.Fstat(fd, &stat); err == nil {
			j.files[stat.Ino].failed = true
		}
		return 0
	})
}

// created records a new, empty file, whose inode may have belonged to a removed one.
func (j *journal) created(fd int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err == nil {
		j.files[stat.Ino] = &undo{pages: map[int64][]byte{}}
	}
}

// powerOff rejects all further writes and fsyncs.
func (j *journal) powerOff() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cut = true
}

// takeBack makes the files below root durable contents: each page that was not synced is
// dropped, or, if chance is not nil, every other one.
func (j *journal) takeBack(root string, chance *rand.Rand) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		u := j.files[info.Sys().(*syscall.Stat_t).Ino]
		if u == nil {
			return nil
		}
		j.droppedFiles++
		return j.restore(path, u, info.Size(), chance)
	})
}

func (j *journal) restore(path string, u *undo, size int64, chance *rand.Rand) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if size != u.size && (chance == nil || chance.IntN(2) == 0) {
		size = u.size
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	for page := int64(0); len(u.pages) > 0 && page*pageSize < size; page++ {
		before, written := u.pages[page]
		if !written {
			continue
		}
		if chance != nil && chance.IntN(2) == 0 {
			j.keptPages++
			continue
		}
		j.droppedPages++
		whole := make([]byte, min(pageSize, size-page*pageSize))
		copy(whole, before)
		if _, err := file.WriteAt(whole, page*pageSize); err != nil {
			return err
		}
	}
	return file.Sync()
}

func errno(err error) syscall.Errno {
	if no, ok := err.(syscall.Errno); ok {
		return no
	}
	return syscall.EIO
}
