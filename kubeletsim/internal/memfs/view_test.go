package memfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newTestView(limit int64) (*View, *Space) {
	space := NewSpace(func() time.Time { return time.Unix(1, 0) }, limit)
	return NewView(space.NewTree(0o755)), space
}

func write(t *testing.T, v *View, name, text string, flag int) error {
	t.Helper()
	f, err := v.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

func read(v *View, name string) (string, error) {
	f, err := v.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	return string(data), err
}

func TestFiles(t *testing.T) {
	v, _ := newTestView(0)
	for _, err := range []error{
		v.MkdirAll("/a/b", 0o755),
		write(t, v, "/a/b/f", "one", 0),
		write(t, v, "/a/b/f", " two", os.O_APPEND),
		v.Symlink("b/f", "/a/link"),
		v.Symlink("/a", "/top"),
		v.Rename("/a/b/f", "/a/b/g"),
		v.Symlink("g", "/a/b/f"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/a/b/g", "/a/link", "/top/link", "/top/../top/b/./f"} {
		if got, err := read(v, name); err != nil || got != "one two" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if err := write(t, v, "/a/link", "X", 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := read(v, "/a/b/g"); got != "Xne two" {
		t.Errorf("after writing through the link: %q", got)
	}
	if got, err := v.Resolve("/top/link"); err != nil || got != "/a/b/g" {
		t.Errorf("the link leads to %q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	v, space := newTestView(10)
	settings := space.NewTree(0o755)
	settings.Put("key", 0o644, []byte("abc"))
	v.Mount("/etc/settings", settings, "", true)
	for _, err := range []error{v.Mkdir("/d", 0o755), write(t, v, "/d/f", "x", 0), v.Symlink("/loop", "/loop")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, missing := read(v, "/nope")
	_, through := read(v, "/d/f/g")
	_, loop := read(v, "/loop")
	_, dir := read(v, "/d")
	for name, tt := range map[string]struct{ got, want error }{
		"missing":            {missing, syscall.ENOENT},
		"beneath a file":     {through, syscall.ENOTDIR},
		"loop":               {loop, syscall.ELOOP},
		"directory":          {dir, syscall.EISDIR},
		"not empty":          {v.Remove("/d"), syscall.ENOTEMPTY},
		"full":               {write(t, v, "/big", strings.Repeat("x", 20), 0), syscall.ENOSPC},
		"read-only":          {write(t, v, "/etc/settings/key", "y", 0), syscall.EROFS},
		"new in read-only":   {v.Mkdir("/etc/settings/x", 0o755), syscall.EROFS},
		"mounted":            {v.RemoveAll("/etc"), syscall.EBUSY},
		"into itself":        {v.Rename("/d", "/d/e"), syscall.EINVAL},
		"there already":      {v.Mkdir("/d", 0o755), syscall.EEXIST},
		"read-only, renamed": {v.Rename("/d/f", "/etc/settings/f"), syscall.EROFS},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
	v.MakeReadOnly()
	if err := write(t, v, "/d/g", "x", 0); !errors.Is(err, syscall.EROFS) {
		t.Errorf("in a read-only view: %v", err)
	}
}

// Views share the trees that are mounted in them, and what is freed can be used again.
func TestMounts(t *testing.T) {
	a, space := newTestView(0)
	b := NewView(space.NewTree(0o755))
	shared := space.NewTree(0o777)
	a.Mount("/data", shared, "", false)
	b.Mount("/in/deep", shared, "sub/dir", false)
	b.Mount("/in/deep/file", shared, "one", false)
	if err := errors.Join(write(t, a, "/data/sub/dir/f", "hello", 0), write(t, a, "/data/one2", "x", 0)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(b, "/in/deep/f"); err != nil || got != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	entries, err := b.ReadDir("/in")
	if err != nil || len(entries) != 1 || !entries[0].IsDir() || entries[0].Name() != "deep" {
		t.Errorf("got %v, %v", entries, err)
	}
	if used, _ := a.Usage(); used != 6 {
		t.Errorf("%d bytes are used", used)
	}
	shared.Free()
	if used, _ := a.Usage(); used != 0 {
		t.Errorf("%d bytes are used when all is free", used)
	}
	if _, err := a.Stat("/data/one2"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// No path and no order of changes makes the count of bytes wrong.
func FuzzFiles(f *testing.F) {
	f.Add("/a/b", "/a", "text", byte(0))
	f.Add("/../x", "x//y/.", "", byte(9))
	f.Fuzz(func(t *testing.T, one, two, text string, order byte) {
		v, space := newTestView(1 << 16)
		changes := []func(){
			func() { _ = v.MkdirAll(one, 0o755) },
			func() { _ = write(t, v, two, text, 0) },
			func() { _ = v.Symlink(one, two) },
			func() { _ = v.Rename(one, two) },
			func() { _ = write(t, v, one, text, os.O_TRUNC) },
			func() { _ = v.RemoveAll(two) },
		}
		for i := range changes {
			changes[(i*int(order|1))%len(changes)]()
		}
		_, _ = v.ReadDir(one)
		_, _ = v.Resolve(two)
		used, _ := v.Usage()
		if real := v.root.bytes(); used != real || used < 0 {
			t.Fatalf("%d bytes are counted, %d are there", used, real)
		}
		(&Tree{space: space, root: v.root}).Free()
	})
}

// All views of a root have what is mounted in one of them, and its bytes are free when it is unmounted.
func TestAttach(t *testing.T) {
	space := NewSpace(func() time.Time { return time.Unix(1, 0) }, 0)
	tree := space.NewTree(0o755)
	tree.PutDir("mnt", 0o755)
	first, second := NewView(tree), NewView(tree)
	if err := first.Attach("", "/mnt", false); err != nil {
		t.Fatal(err)
	}
	f, err := first.OpenFile("/mnt/a", os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if info, err := second.Stat("/mnt/a"); err != nil || info.Size() != 100 {
		t.Errorf("another view: %v, %v", info, err)
	}
	if err := first.Attach("", "/mnt", false); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a second mount: %v", err)
	}
	if err := second.Remount("/mnt", true); err != nil {
		t.Error(err)
	}
	if err := first.Remove("/mnt/a"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a removal in a read-only mount: %v", err)
	}
	if err := second.Detach("/mnt"); err != nil {
		t.Error(err)
	}
	if used, _ := first.Usage(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
	if err := first.Detach("/mnt"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unmounted twice: %v", err)
	}
}
