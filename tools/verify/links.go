package main

import (
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
			t.reportAt(name, 1, "%v", err)
			continue
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target := m[1]
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if _, err := fs.Stat(t.fsys, path.Join(path.Dir(name), target)); err != nil {
					t.reportAt(name, i+1, "the link to %s has no target", target)
				}
			}
		}
	}
}
