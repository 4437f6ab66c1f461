package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// target is a fuzz test: a function Fuzz... of a test file.
type target struct{ dir, name string }

func (t target) String() string { return t.dir + ":" + t.name }

// find returns the fuzz targets of a module, in the order of their files. It skips nested
// modules, whose tests the go command does not run from here.
func find(module fs.FS) ([]target, error) {
	var all []target
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(module, name)
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		content, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing a test file: %w", err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				all = append(all, target{dir: "./" + path.Dir(name), name: f.Name.Name})
			}
		}
		return nil
	})
	return all, err
}

// enter returns fs.SkipDir for a directory whose Go files are not part of the module.
func enter(module fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(module, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
