package main

import (
	"io/fs"
	"regexp"
	"strings"
)

// personal matches the words for people that must not stand for programs (docs/glossary.md has
// the terms to use instead). "Tell apart" is the usual phrase for a distinction.
var personal = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|tells?)\b`)

var apart = regexp.MustCompile(`(?i)\btells?\b[^.;:]*\bapart\b`)

// quoted matches what is code in a text: spans in backquotes, and strings.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")

// checkWords finds personal words in comments and in Markdown, and comments for linters that
// do not run here.
func checkWords(t *tree) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				switch word := personalWord(c.Text); {
				case word != "":
					t.reportf(f, c.Pos(), "%q in a comment: name what happens", word)
				case strings.HasPrefix(c.Text, "//nolint"):
					t.reportf(f, c.Pos(), "a nolint comment: no linter here reads it")
				}
			}
		}
	}
	for _, name := range t.markdown {
		src, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			t.reportAt(name, 1, "%v", err)
			continue
		}
		code := false
		for i, line := range strings.Split(string(src), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if word := personalWord(line); word != "" && !code {
				t.reportAt(name, i+1, "%q: name what happens", word)
			}
		}
	}
}

// personalWord returns the first personal word of a text, or "".
func personalWord(text string) string {
	return personal.FindString(apart.ReplaceAllString(quoted.ReplaceAllString(text, ""), ""))
}
