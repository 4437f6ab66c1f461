package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// module is the path of the checked module.
const module = "minikcm.dev/minikcm"

// tree holds the repository's parsed Go files and the problems found.
type tree struct {
	fsys     fs.FS
	fset     *token.FileSet
	files    []*file
	markdown []string // paths
	check    string
	problems []string
}

type file struct {
	path      string // from the root, with slashes
	dir       string // "." is the root
	test      bool
	generated bool
	lines     int
	ast       *ast.File
	allowed   map[int]bool // the lines with a verify:allow comment
}

// load parses every Go file of the module at the root of fsys and finds its Markdown files. It
// skips folders with their own go.mod, testdata, npm's packages and hidden folders.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys, fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, name)
		}
		if strings.HasSuffix(name, ".md") {
			t.markdown = append(t.markdown, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		return t.parse(fsys, name)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the repository: %w", err)
	}
	return t, nil
}

func skip(fsys fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) parse(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &file{
		path: name, dir: path.Dir(name), ast: parsed,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed),
		lines:     bytes.Count(src, []byte{'\n'}),
		allowed:   map[int]bool{},
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if reason, ok := strings.CutPrefix(c.Text, "//verify:allow "); ok && strings.TrimSpace(reason) != "" {
				f.allowed[t.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	t.files = append(t.files, f)
	return nil
}

// reportf adds a problem at pos, unless its line is allowed to have it.
func (t *tree) reportf(f *file, pos token.Pos, format string, args ...any) {
	line := t.fset.Position(pos).Line
	if f.allowed[line] {
		return
	}
	t.reportAt(f.path, line, format, args...)
}

// reportAt adds a problem in a line of a file.
func (t *tree) reportAt(name string, line int, format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf("%s:%d: %s (%s)", name, line, fmt.Sprintf(format, args...), t.check))
}

// importName returns the name of an import in its file.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	p := importPath(spec)
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && strings.Contains(p, "rand") {
		base = path.Base(path.Dir(p)) // math/rand/v2
	}
	return base
}

func importPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

// within reports whether dir is folder or a subfolder of it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}
