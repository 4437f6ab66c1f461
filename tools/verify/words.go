package main

import (
	"go/token"
	"io/fs"
	"regexp"
	"strings"
)

// personal matches the words for people that must not stand for programs (docs/glossary.md has
// the terms to use instead). "Tell apart" is the usual phrase for a distinction.
var personal = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|tells?)\b`)

var apart = regexp.MustCompile(`(?i)\btells?\b[^.;:]*\bapart\b`)

// nameless matches phrases that stand for a noun which should be named: "the name is that of the pod" is
// "it has the pod's name". client-go and etcd have 12 of them in 95,000 lines.
var nameless = regexp.MustCompile(`\b((is|are) what|that of|those of)\b`)

const namelessPerLines = 12.0 / 95_000

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
	t.checkNameless()
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

// checkNameless reports the comments with nameless phrases if there are more of them than in client-go and
// etcd, by lines of code. A few are the best English for what they say.
func (t *tree) checkNameless() {
	type place struct {
		file *file
		pos  token.Pos
		text string
	}
	var found []place
	lines := 0
	for _, f := range t.files {
		if f.generated {
			continue
		}
		lines += f.lines
		for _, group := range f.ast.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, phrase := range nameless.FindAllString(quoted.ReplaceAllString(text, ""), -1) {
				found = append(found, place{f, group.Pos(), phrase})
			}
		}
	}
	if may := int(namelessPerLines*float64(lines)) + 1; len(found) > may {
		for _, p := range found {
			t.reportf(p.file, p.pos, "%q in a comment, one of %d, where %d are usual: name the thing", p.text, len(found), may)
		}
	}
}
