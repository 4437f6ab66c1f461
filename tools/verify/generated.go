package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// checkGenerated runs all generators, compares the generated files with the present ones, and
// restores the present ones.
func checkGenerated(t *tree, root string) error {
	dirs := generatorDirs(t)
	if len(dirs) == 0 {
		return nil
	}
	before, err := snapshot(root, dirs)
	if err != nil {
		return err
	}
	args := []string{"generate"}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, runErr := cmd.CombinedOutput()
	after, err := snapshot(root, dirs)
	if err != nil {
		return err
	}
	for name, made := range after {
		if was, ok := before[name]; ok && bytes.Equal(was, made) {
			continue
		}
		t.problems = append(t.problems, fmt.Sprintf("%s: not up to date with its generator: run make fix (%s)", name, t.check))
	}
	if err := restore(root, before, after); err != nil {
		return err
	}
	if runErr != nil {
		return fmt.Errorf("go generate: %w\n%s", runErr, out)
	}
	return nil
}

// generatorDirs returns the folders with a go:generate line.
func generatorDirs(t *tree) []string {
	var dirs []string
	for _, f := range t.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:generate ") {
					dirs = append(dirs, f.dir)
				}
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// snapshot reads all files in dirs, without subfolders.
func snapshot(root string, dirs []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			name := filepath.Join(dir, e.Name())
			data, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			files[name] = data
		}
	}
	return files, nil
}

func restore(root string, before, after map[string][]byte) error {
	for name, made := range after {
		was, ok := before[name]
		path := filepath.Join(root, name)
		switch {
		case !ok:
			if err := os.Remove(path); err != nil {
				return err
			}
		case !bytes.Equal(was, made):
			if err := os.WriteFile(path, was, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
