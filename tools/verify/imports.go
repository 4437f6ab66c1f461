package main

import (
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// The compiler keeps the walls between the folders: a package beneath an internal folder can
// only be imported from the folder above it. This file has the rules that the compiler cannot
// enforce: the order of the folders, and a few layers within them.

// order lists, for each folder, the other folders that its packages may reach, through any
// number of imports. "." is the root package alone. Packages beneath internal are not listed:
// each belongs to the folder that imports it, and must not reach more than that folder may.
// Tests are free.
var order = map[string][]string{
	"clock":       {},
	"store":       {"clock"},
	"apiserver":   {"clock", "store"},
	"controllers": {"clock"},
	"kubeletsim":  {"clock"},
	".":           {"clock", "store", "apiserver", "controllers", "kubeletsim"},
	"scenarios":   {".", "clock", "store", "apiserver", "controllers", "kubeletsim"},
	"minikcmtest": {".", "clock", "store", "apiserver", "controllers", "kubeletsim"},
	"hunt":        {"minikcmtest", "scenarios", ".", "clock", "store", "apiserver", "controllers", "kubeletsim"},
	"ui":          {},
}

// above are the folders that may reach all.
var above = []string{"internal", "cmd", "test", "examples"}

// layer keeps packages from reaching others of the same folder.
type layer struct {
	packages []string // beneath folder
	folder   string
	not      []string // beneath folder
}

var layers = []layer{
	{[]string{"codec", "resources", "strategy", "fieldmanager", "storage", "watchcache", "admission"}, "apiserver/internal", []string{"request", "response", "verbs"}},
	{[]string{"spec"}, "internal/scenario", []string{"fault", "check"}},
}

// neverImport are modules that must not be imported, with the reasons.
var neverImport = map[string]string{
	"k8s.io/kubernetes":           "upstream's own code stays out of the binary",
	"github.com/stretchr/testify": "tests are plain Go and go-cmp",
	"golang.org/x/exp":            "the standard library has it",
}

// onlyIn maps a package, with the packages beneath it, to the folders that may import it.
// Tests may import it, too. A decision (a package named decide) may be imported by its own
// controller and by the folder controllers, unless it is listed here.
var onlyIn = map[string][]string{
	"sigs.k8s.io/controller-runtime":                          {"minikcmtest/ctrltest", "test/hunt"}, // an operator to hunt
	module + "/minikcmtest/ctrltest":                          {"minikcmtest/ctrltest"},
	module + "/controllers/internal/volumeprovisioner/decide": {"controllers/internal/volumeprovisioner", "controllers/internal/volumeattacher", "controllers"},
}

// withoutCluster are packages that convert between text and structures: they import no client.
var withoutCluster = []string{"internal/scenario/spec"}

var clients = []string{"k8s.io/client-go", "k8s.io/kubectl", "k8s.io/apiserver"}

func checkImports(t *tree) {
	for _, f := range t.files {
		for _, spec := range f.ast.Imports {
			imported := importPath(spec)
			for never, why := range neverImport {
				if within(imported, never) {
					t.reportf(f, spec.Pos(), "imports %s: %s", imported, why)
				}
			}
			if f.test {
				continue
			}
			t.checkUser(f, spec.Pos(), imported)
			if slices.Contains(withoutCluster, f.dir) && slices.ContainsFunc(clients, func(c string) bool { return within(imported, c) }) {
				t.reportf(f, spec.Pos(), "%s must not import %s: it knows no cluster", f.dir, imported)
			}
		}
	}
	g := t.graph()
	for _, dir := range slices.Sorted(maps.Keys(g)) {
		g.checkOrder(t, dir)
	}
}

// checkUser reports an import of a package that belongs to others.
func (t *tree) checkUser(f *file, pos token.Pos, imported string) {
	listed := false
	for only, in := range onlyIn {
		if !within(imported, only) {
			continue
		}
		listed = true
		if !slices.ContainsFunc(in, func(folder string) bool {
			return f.dir == folder || strings.Contains(folder, "/") && within(f.dir, folder)
		}) {
			t.reportf(f, pos, "%s must not import %s: only %s does", f.dir, imported, strings.Join(in, ", "))
		}
	}
	if dir, ours := strings.CutPrefix(imported, module+"/"); ours && !listed && path.Base(dir) == "decide" && f.dir != "controllers" && !within(f.dir, path.Dir(dir)) {
		t.reportf(f, pos, "%s must not import %s: it is another controller's decision", f.dir, imported)
	}
}

// place is where a package is imported.
type place struct {
	file *file
	pos  token.Pos
}

// graph has, for each of our packages, our packages that it imports, without its tests.
type graph map[string]map[string]place

func (t *tree) graph() graph {
	g := graph{}
	for _, f := range t.files {
		if f.test {
			continue
		}
		if g[f.dir] == nil {
			g[f.dir] = map[string]place{}
		}
		for _, spec := range f.ast.Imports {
			if dir, ours := strings.CutPrefix(importPath(spec), module); ours {
				g[f.dir][path.Clean(strings.TrimPrefix(dir, "/"))] = place{f, spec.Pos()}
			}
		}
	}
	return g
}

// topFolder returns the row of order that a package belongs to.
func topFolder(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}

func (g graph) checkOrder(t *tree, dir string) {
	folder := topFolder(dir)
	if slices.Contains(above, folder) {
		g.checkLayers(t, dir)
		return
	}
	may, known := order[folder]
	if !known {
		for _, p := range t.files {
			if p.dir == dir {
				t.reportf(p, p.ast.Package, "the folder %s is not in the table of tools/verify/imports.go", folder)
				return
			}
		}
	}
	g.checkReach(t, dir, func(reached string) bool {
		top := topFolder(reached)
		return top != folder && !slices.Contains(may, top) && top != "internal" && top != "ui"
	})
	g.checkLayers(t, dir)
}

func (g graph) checkLayers(t *tree, dir string) {
	for _, l := range layers {
		if !slices.ContainsFunc(l.packages, func(p string) bool { return dir == l.folder+"/"+p }) {
			continue
		}
		g.checkReach(t, dir, func(reached string) bool {
			return slices.ContainsFunc(l.not, func(n string) bool { return reached == l.folder+"/"+n })
		})
	}
}

// checkReach reports the imports of a package through which it reaches one that it may not.
func (g graph) checkReach(t *tree, dir string, forbidden func(string) bool) {
	for _, direct := range slices.Sorted(maps.Keys(g[dir])) {
		if way := g.way(direct, forbidden, map[string]bool{}); way != nil {
			at := g[dir][direct]
			t.reportf(at.file, at.pos, "%s must not import %s", dir, strings.Join(way, ", which imports "))
		}
	}
}

// way returns the packages from dir to a forbidden one, or nil.
func (g graph) way(dir string, forbidden func(string) bool, seen map[string]bool) []string {
	if forbidden(dir) {
		return []string{dir}
	}
	if seen[dir] {
		return nil
	}
	seen[dir] = true
	for _, next := range slices.Sorted(maps.Keys(g[dir])) {
		if rest := g.way(next, forbidden, seen); rest != nil {
			return append([]string{dir}, rest...)
		}
	}
	return nil
}
