package main

import "go/ast"

// The maximum lengths of files and functions, in lines, for code and for tests.
const (
	maxFile         = 600
	maxTestFile     = 900
	maxFunction     = 80
	maxTestFunction = 140
)

func checkSizes(t *tree) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		longestFile, longestFunction := maxFile, maxFunction
		if f.test {
			longestFile, longestFunction = maxTestFile, maxTestFunction
		}
		if f.lines > longestFile {
			t.reportf(f, f.ast.Package, "the file has %d lines, more than %d", f.lines, longestFile)
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
			if lines > longestFunction {
				t.reportf(f, fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, lines, longestFunction)
			}
		}
	}
}
