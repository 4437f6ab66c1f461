package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAPIChanges(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if err := run(dir, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/api\n\ngo 1.26\n")
	write("a.go", "package api\n\nfunc Gone() {}\n\nfunc Kept() {}\n")
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	git("tag", "v0.1.0")
	write("a.go", "package api\n\nfunc Kept() {}\n\nfunc Added() {}\n")
	write("new/b.go", "package b\n")
	tools, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := apiChanges(dir, tools, "v0.1.0", []string{".", "new"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".: Gone: removed"}; !slices.Equal(got, want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
}
