package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// public are the packages whose exported names docs/versioning.md calls stable.
var public = []string{".", "clock", "clock/informers", "minikcmtest", "minikcmtest/ctrltest", "scenarios", "scenarios/fault"}

// acceptedChanges is the file with the incompatible changes of the public packages since the last release that
// are meant, as this check prints them. CHANGELOG.md says what users have to do.
const acceptedChanges = "docs/api-changes.txt"

// checkAPI compares the public packages with the newest release that Git knows, and reports the incompatible
// changes that are not accepted. Without a release, there is nothing to compare with.
func checkAPI(t *tree, root string) error {
	tag, err := exec.Command("git", "-C", root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
	if err != nil {
		return nil
	}
	accepted, err := os.ReadFile(filepath.Join(root, acceptedChanges))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the accepted changes of the API: %w", err)
	}
	changes, err := apiChanges(root, filepath.Join(root, "tools"), strings.TrimSpace(string(tag)), public)
	if err != nil {
		return err
	}
	lines := strings.Split(string(accepted), "\n")
	for _, change := range changes {
		if !slices.Contains(lines, change) {
			t.problems = append(t.problems, fmt.Sprintf("%s: add the change to %s if it is meant, and to CHANGELOG.md (%s)", change, acceptedChanges, t.check))
		}
	}
	return nil
}

// apiChanges returns the incompatible changes of packages since a release, each with its package. tools is the
// folder of the module that has apidiff.
func apiChanges(root, tools, release string, packages []string) (changes []string, err error) {
	dir, err := os.MkdirTemp("", "minikcm-api-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	apidiff := filepath.Join(dir, "apidiff")
	if err := run(tools, "go", "build", "-o", apidiff, "golang.org/x/exp/cmd/apidiff"); err != nil {
		return nil, err
	}
	before := filepath.Join(dir, "before")
	if err := run(root, "git", "worktree", "add", "--quiet", "--detach", before, release); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run(root, "git", "worktree", "remove", "--force", before)) }()
	for _, pkg := range packages {
		old := filepath.Join(dir, "old.api")
		if _, err := os.Stat(filepath.Join(before, pkg)); err != nil { // it is new
			continue
		}
		if err := run(before, apidiff, "-w", old, "./"+pkg); err != nil {
			return nil, err
		}
		cmd := exec.Command(apidiff, "-incompatible", old, "./"+pkg)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("comparing the API of %s: %w", pkg, err)
		}
		for line := range strings.Lines(string(out)) {
			if change, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
				changes = append(changes, pkg+": "+change)
			}
		}
	}
	return changes, nil
}

// run runs a command, whose output is part of the error.
func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, bytes.TrimSpace(out))
	}
	return nil
}
