package memfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func partialView() *View {
	space := NewSpace(func() time.Time { return time.Unix(0, 0) }, 0)
	tree := space.NewPartialTree(0o755)
	tree.Put("etc/hosts", 0o644, []byte("known"))
	tree.PutCompleteDir("tmp", 0o777)
	v := NewView(tree)
	volume := space.NewTree(0o777)
	v.Mount("/opt/app/data", volume, "", false)
	return v
}

// Of a partial tree it is unknown what else is in it, but not in its complete directories and volumes.
func TestPartialTree(t *testing.T) {
	v := partialView()
	for name, want := range map[string]error{
		"/etc/hosts": nil, "/opt/app/data": nil,
		"/etc/other": unknown.ErrFile, "/opt/app/bin": unknown.ErrFile, "/a/b/c": unknown.ErrFile,
		"/tmp/x": fs.ErrNotExist, "/opt/app/data/x": fs.ErrNotExist, "/tmp/" + unknown.Text: unknown.ErrFile,
	} {
		if _, err := v.Stat(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if v.Partial("/tmp") || !v.Partial("/etc") || !v.Partial("/nothing/known") {
		t.Error("which directories are partial")
	}
}

func readAll(t *testing.T, v *View, name string, flag int) string {
	t.Helper()
	f, err := v.OpenFile(name, flag, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUnknownFile(t *testing.T) {
	v := partialView()
	if got := readAll(t, v, "/etc/app/conf", os.O_RDONLY); got != unknown.Line {
		t.Errorf("reading gives %q", got)
	}
	if _, err := v.Stat("/etc/app"); !errors.Is(err, unknown.ErrFile) {
		t.Errorf("reading has made a directory: %v", err)
	}
	f, err := v.OpenFile("/etc/app/log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("a"))
	if got := readAll(t, v, "/etc/app/log", os.O_RDONLY); got != unknown.Line+"a" {
		t.Errorf("appended: %q", got)
	}
	f, err = v.OpenFile("/etc/app/new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("a"))
	if got := readAll(t, v, "/etc/app/new", os.O_RDONLY); got != "a" {
		t.Errorf("written: %q", got)
	}
	if _, err := v.Stat("/etc/app/other"); !errors.Is(err, unknown.ErrFile) {
		t.Errorf("a directory made on the way is complete: %v", err)
	}
}

// A file that a command removes is absent, and a directory that it makes has no unknown entries.
func TestChangesOfTheUnknown(t *testing.T) {
	v := partialView()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	stat := func(name string, want error) {
		t.Helper()
		if _, err := v.Stat(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	do(v.Remove("/opt/x/flag"))
	stat("/opt/x/flag", fs.ErrNotExist)
	stat("/opt/x/other", unknown.ErrFile)
	do(v.Remove("/etc/hosts"))
	stat("/etc/hosts", fs.ErrNotExist)
	do(v.Mkdir("/opt/new", 0o755))
	stat("/opt/new/x", fs.ErrNotExist)
	do(v.MkdirAll("/opt/perhaps", 0o755))
	stat("/opt/perhaps/x", unknown.ErrFile)
	do(v.Rename("/usr/bin/tool", "/tmp/tool"))
	stat("/usr/bin/tool", fs.ErrNotExist)
	if got := readAll(t, v, "/tmp/tool", os.O_RDONLY); got != unknown.Line {
		t.Errorf("moved: %q", got)
	}
	do(v.PutUnknown("/tmp/copy"))
	stat("/tmp/copy/inner", unknown.ErrFile)
	do(v.Obscure("/opt/app/data"))
	stat("/opt/app/data/x", unknown.ErrFile)
	do(v.Obscure("/tmp/written"))
	stat("/tmp/written", nil)
}
