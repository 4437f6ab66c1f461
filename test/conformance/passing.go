package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A list is the file of tests that must pass: one name per line, sorted.
type list struct {
	path  string
	names []string
	// others are names of another list that have to pass, too.
	others []string
}

func (l *list) all() []string { return slices.Concat(l.names, l.others) }

func readList(path string) (*list, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of tests that pass: %w", err)
	}
	l := &list{path: path}
	for line := range strings.Lines(string(data)) {
		if name := strings.TrimSpace(line); name != "" {
			l.names = append(l.names, name)
		}
	}
	return l, nil
}

// pattern returns a regular expression that matches exactly the names of the list. others adds the names of the other lists.
func (l *list) pattern(others bool) string {
	all := l.names
	if others {
		all = l.all()
	}
	quoted := make([]string, len(all))
	for i, name := range all {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}

// update adds the gained tests of a verdict to the list, removes the names that no test has,
// and writes it.
func (l *list) update(v verdict) error {
	all := slices.Concat(l.names, v.gained)
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(v.unknown, name) })
	slices.Sort(all)
	text := strings.Join(slices.Compact(all), "\n") + "\n"
	if err := os.WriteFile(l.path, []byte(text), 0o644); err != nil { // a file of the repository
		return fmt.Errorf("writing the list of tests that pass: %w", err)
	}
	return nil
}

// A verdict compares the results of a run with the list.
type verdict struct {
	passed  int
	lost    []result // failed or skipped itself, and on the list
	failed  []result // failed, and not on the list
	gained  []string // passed, and not on the list
	unknown []string // on the list, and no test of the suite
}

func (l *list) compare(results []result) verdict {
	var v verdict
	names, all := make(map[string]bool, len(results)), l.all()
	for _, r := range results {
		names[r.name] = true
		listed := slices.Contains(all, r.name)
		switch {
		case r.skipped && (r.reason == "" || !listed): // not selected, or skips itself
		case r.passed:
			v.passed++
			if !listed {
				v.gained = append(v.gained, r.name)
			}
		case listed:
			v.lost = append(v.lost, r)
		default:
			v.failed = append(v.failed, r)
		}
	}
	for _, name := range all {
		if !names[name] {
			v.unknown = append(v.unknown, name)
		}
	}
	return v
}

func (v verdict) print(w io.Writer) {
	for _, r := range v.failed {
		fmt.Fprintf(w, "failed  %s\n          %s\n", r.name, r.reason)
	}
	for _, name := range v.gained {
		fmt.Fprintf(w, "gained  %s\n", name)
	}
	for _, r := range v.lost {
		fmt.Fprintf(w, "LOST    %s\n          %s\n", r.name, r.reason)
	}
	for _, name := range v.unknown {
		fmt.Fprintf(w, "UNKNOWN %s\n          no test of the suite has this name; -update removes it\n", name)
	}
	fmt.Fprintf(w, "%d passed (%d of them not on the list), %d failed, %d lost\n", v.passed, len(v.gained), len(v.failed), len(v.lost))
}

func (v verdict) err() error {
	switch {
	case len(v.lost) > 0:
		return fmt.Errorf("%d tests of the list do not pass any more", len(v.lost))
	case len(v.unknown) > 0:
		return fmt.Errorf("%d names of the list are of no test of the suite", len(v.unknown))
	case v.passed+len(v.failed) == 0:
		return fmt.Errorf("no test ran: does anything match the focus?")
	}
	return nil
}
