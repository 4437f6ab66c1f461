package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// maxSubject is the maximum length of a commit's subject, in characters.
const maxSubject = 72

// subject matches "area: what it does", with one or several areas.
var subject = regexp.MustCompile(`^[a-z0-9][a-z0-9/._-]*(, [a-z0-9][a-z0-9/._-]*)*: \S.*[^.\s]$`)

// lastUnchecked is the last commit that is not checked. Neither are its ancestors.
const lastUnchecked = "0920f9c0f320379e3698b41a3d46869b698c83ae"

// mainBranches are the candidates for the main branch, of which the first existing one is
// used. Its commits are not checked.
var mainBranches = []string{"origin/main", "main"}

// checkSubjects requires that the subject of each commit that is not yet on the main branch is
// "area: what it does". Without git, or on the main branch, it checks nothing.
func checkSubjects(t *tree, root string) error {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return string(bytes.TrimSpace(out)), err
	}
	for _, branch := range mainBranches {
		if _, err := git("rev-parse", "--verify", "--quiet", branch); err != nil {
			continue
		}
		args := []string{"log", "--no-merges", "--format=%h %s", branch + "..HEAD"}
		if _, err := git("rev-parse", "--verify", "--quiet", lastUnchecked+"^{commit}"); err == nil {
			args = append(args, "^"+lastUnchecked)
		}
		subjects, err := git(args...)
		if err != nil {
			return fmt.Errorf("listing the commits since %s: %w", branch, err)
		}
		for line := range strings.Lines(subjects) {
			commit, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if problem := wrongSubject(text); problem != "" {
				t.problems = append(t.problems, fmt.Sprintf("commit %s: %q %s (subjects)", commit, text, problem))
			}
		}
		return nil
	}
	return nil
}

// wrongSubject returns what is wrong with a subject, or "".
func wrongSubject(text string) string {
	switch {
	case len([]rune(text)) > maxSubject:
		return fmt.Sprintf("has more than %d characters", maxSubject)
	case !subject.MatchString(text):
		return `is not "area: what it does"`
	}
	return ""
}
