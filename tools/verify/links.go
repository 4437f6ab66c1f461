package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	link = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	// heading is a heading of a document, and anchor an element with an id.
	heading = regexp.MustCompile(`^#+ +(.*)$`)
	anchor  = regexp.MustCompile(`id="([^"]+)"`)
	// linked is a link in a heading, of which the anchor has the text, and unspoken what it leaves out.
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	unspoken = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// checkLinks requires that the target of every relative link in the repository's Markdown
// exists, and has the heading or the anchor that the link names.
func checkLinks(t *tree) {
	known := map[string]map[string]bool{}
	for _, name := range t.markdown {
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			t.reportAt(name, 1, "%v", err)
			continue
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if m[1] == "" && m[2] == "" || strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				if problem := checkLink(t.fsys, name, m[1], m[2], known); problem != "" {
					t.reportAt(name, i+1, "%s", problem)
				}
			}
		}
	}
}

// checkLink returns what is wrong with a link in a document; empty: nothing. known has the anchors of
// documents.
func checkLink(fsys fs.FS, from, target, to string, known map[string]map[string]bool) string {
	file := from
	if target != "" {
		file = path.Join(path.Dir(from), target)
	}
	if _, err := fs.Stat(fsys, file); err != nil {
		return fmt.Sprintf("the link to %s has no target", target)
	}
	if to == "" || path.Ext(file) != ".md" {
		return ""
	}
	if known[file] == nil {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err.Error()
		}
		known[file] = anchorsOf(string(data))
	}
	if !known[file][to] {
		return fmt.Sprintf("the link to %s#%s has no such heading", target, to)
	}
	return ""
}

// anchorsOf returns the anchors of a document, as GitHub makes them from headings.
func anchorsOf(document string) map[string]bool {
	anchors, code := map[string]bool{}, false
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			anchors[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil || code {
			continue
		}
		text := strings.ToLower(strings.TrimSpace(linked.ReplaceAllString(m[1], "$1")))
		slug := strings.ReplaceAll(unspoken.ReplaceAllString(text, ""), " ", "-")
		unique := slug
		for n := 1; anchors[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", slug, n)
		}
		anchors[unique] = true
	}
	return anchors
}
