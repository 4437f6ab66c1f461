package memfs

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestWritten: what views write counts in its tree, wherever it is moved, and what is put there does
// not before it is changed.
func TestWritten(t *testing.T) {
	v, space := newTestView(0)
	volume, calls := space.NewTree(0o777), 0
	v.Mount("/data", volume, "", false)
	volume.Watch(func() { calls++ })
	volume.Put("image", 0o644, []byte("12345"))
	if n := volume.Written(); n != 0 || calls != 0 {
		t.Errorf("%d bytes, %d calls before a write", n, calls)
	}
	do := func(what string, bytes int64, called int, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		if calls != called {
			t.Errorf("%s: %d calls, want %d", what, calls, called)
		}
		if n := volume.Written(); n != bytes {
			t.Errorf("%s: %d bytes, want %d", what, n, bytes)
		}
	}
	do("changed", 6, 1, write(t, v, "/data/image", "6", os.O_APPEND))
	do("elsewhere", 6, 1, write(t, v, "/tmp", "123", 0))
	do("a folder", 6, 1, v.MkdirAll("/data/a/b", 0o755))
	do("in a folder", 9, 2, write(t, v, "/data/a/b/f", "789", 0))
	do("moved within", 9, 2, v.Rename("/data/a/b", "/data/c"))
	do("moved there", 12, 3, v.Rename("/tmp", "/data/c/g"))
	do("moved away", 6, 4, v.Rename("/data/c", "/c"))
	do("truncated", 1, 5, write(t, v, "/data/image", "x", os.O_TRUNC))
	do("overwritten", 1, 5, write(t, v, "/data/image", "y", 0))
	do("removed", 0, 6, v.RemoveAll("/data/image"))
}

// TestTreeLimit: a tree with a limit is full before its space is.
func TestTreeLimit(t *testing.T) {
	v, space := newTestView(0)
	volume := space.NewTree(0o777)
	volume.Limit(4)
	v.Mount("/data", volume, "", false)
	if err := write(t, v, "/data/a", "123", 0); err != nil {
		t.Error(err)
	}
	if err := write(t, v, "/data/b", "45", 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write beyond the limit: %v", err)
	}
	if err := errors.Join(v.Remove("/data/a"), write(t, v, "/data/b", "4567", 0), write(t, v, "/data/b", "xx", 0)); err != nil {
		t.Error(err)
	}
	volume.Free()
	if used, _ := v.Usage(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}
