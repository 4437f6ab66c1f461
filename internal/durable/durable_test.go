package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/internal/durable"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := durable.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v, want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "none", "f"), nil, 0o600); err == nil {
		t.Error("a file in a missing directory is written")
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "d"), nil, 0o600); err == nil {
		t.Error("a directory is replaced")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*.part")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
