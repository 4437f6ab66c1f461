package main

import "go/ast"

// checkShape finds init functions and contexts in structs. The user of a package wires it, and
// a context belongs to a call: a goroutine gets its context as an argument.
func checkShape(t *tree) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.reportf(f, fn.Pos(), "init function")
			}
		}
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if isSelector(field.Type, "context", "Context") {
					t.reportf(f, field.Pos(), "a context in a struct")
				}
			}
			return true
		})
	}
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
