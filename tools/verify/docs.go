package main

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// checkDocs requires that every folder with code has a doc.go with the package comment, and
// no other file has one. A command may have it in main.go.
func checkDocs(t *tree) {
	byDir := map[string][]*file{}
	for _, f := range t.files {
		if !f.test {
			byDir[f.dir] = append(byDir[f.dir], f)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		files := byDir[dir]
		i := slices.IndexFunc(files, func(f *file) bool { return path.Base(f.path) == "doc.go" })
		if i < 0 && files[0].ast.Name.Name == "main" {
			i = slices.IndexFunc(files, func(f *file) bool { return path.Base(f.path) == "main.go" })
		}
		switch {
		case i < 0:
			t.reportf(files[0], files[0].ast.Package, "the package has no doc.go")
			continue
		case strings.TrimSpace(files[i].ast.Doc.Text()) == "":
			t.reportf(files[i], files[i].ast.Package, "the package has no comment")
		}
		for _, f := range files {
			if f != files[i] && !f.generated && f.ast.Doc != nil && strings.HasPrefix(f.ast.Doc.Text(), "Package ") {
				t.reportf(f, f.ast.Package, "the package's comment is in doc.go")
			}
		}
	}
}
