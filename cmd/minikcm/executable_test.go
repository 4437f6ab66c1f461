package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestExecutableWithoutProc finds the program where the system does not know its path, by the name
// by which it was called.
func TestExecutableWithoutProc(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "minikcm.exe")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	unknown := func() (string, error) { return "", errors.New("no /proc") }
	for _, called := range []string{path, "minikcm.exe"} {
		if got, err := executableOf(unknown, called); err != nil || got != path {
			t.Errorf("called as %s, it is %s, %v; want %s", called, got, err, path)
		}
	}
	if got, err := executableOf(unknown, "other"); err == nil {
		t.Errorf("called as another program, it is %s", got)
	}
	if got, err := executableOf(func() (string, error) { return "/known", nil }, "other"); err != nil || got != "/known" {
		t.Errorf("where the system knows the path, it is %s, %v", got, err)
	}
}
