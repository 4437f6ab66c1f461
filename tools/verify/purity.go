package main

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// directivePure is the line in the comment of a package (doc.go) whose functions compute their
// results from their arguments alone. Of our packages, such a package may only import pure ones, so
// that the rule also holds for the functions that it calls. A package named decide has to be pure.
const directivePure = "//minikcm:pure"

// purePackages returns the folders whose packages say that they are pure.
func (t *tree) purePackages() map[string]bool {
	pure := map[string]bool{}
	for _, f := range t.files {
		if f.ast.Doc == nil || f.test {
			continue
		}
		for _, c := range f.ast.Doc.List {
			if c.Text == directivePure {
				pure[f.dir] = true
			}
		}
	}
	return pure
}

// impure are the imports through which code waits, shares state, or reaches the API, the
// network, the machine or a log.
var impure = []string{
	"context", "sync", "net/http", "os", "log", "k8s.io/client-go", "k8s.io/klog", "k8s.io/utils/clock",
}

// pureParts are the pure packages of modules in impure.
var pureParts = []string{"k8s.io/client-go/util/jsonpath"}

func checkPurity(t *tree) {
	pure := t.purePackages()
	for _, f := range t.files {
		switch {
		case f.test:
		case pure[f.dir]:
			t.checkPure(f, pure)
		case path.Base(f.dir) == "decide":
			t.reportf(f, f.ast.Package, "package %s is a decision and does not say %s", f.dir, directivePure)
		}
	}
}

func (t *tree) checkPure(f *file, pure map[string]bool) {
	for _, spec := range f.ast.Imports {
		imported := importPath(spec)
		if imported == "sync" && f.onlyMemory() {
			continue
		}
		if !slices.Contains(pureParts, imported) && slices.ContainsFunc(impure, func(not string) bool { return within(imported, not) }) {
			t.reportf(f, spec.Pos(), "pure code imports %s", imported)
		}
		if beneath, ours := strings.CutPrefix(imported, module+"/"); ours && !pure[beneath] {
			t.reportf(f, spec.Pos(), "pure code imports %s, which does not say %s", imported, directivePure)
		}
	}
}

// onlyMemory reports whether f uses nothing of package sync but Pool and Map. A pool shares memory,
// and a Map at the level of a package remembers what a pure function returns; neither is state that
// a result depends on.
func (f *file) onlyMemory() bool {
	only := true
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name != "Pool" && sel.Sel.Name != "Map" {
			of, ok := sel.X.(*ast.Ident)
			only = only && !(ok && of.Name == "sync")
		}
		return only
	})
	return only
}
