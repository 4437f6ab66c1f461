package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var link = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)

// checkLinks requires that the target of every relative link in the repository's Markdown
// exists.
func checkLinks(t *tree) {
	for _, name := range t.markdown {
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			t.problems = append(t.problems, fmt.Sprintf("%s: %v (%s)", name, err, t.check))
			continue
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target := m[1]
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if _, err := fs.Stat(t.fsys, path.Join(path.Dir(name), target)); err != nil {
					t.problems = append(t.problems, fmt.Sprintf("%s:%d: the target of the link to %s does not exist (%s)", name, i+1, target, t.check))
				}
			}
		}
	}
}
