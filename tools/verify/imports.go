package main

import "strings"

// mayImport is the table of docs/architecture.md: the folders that each folder may import.
// "." is the root package alone. Every other name means the folder with its subfolders, and
// may itself be a subfolder. A folder may import itself.
var mayImport = map[string][]string{
	"clock":    {},
	"store":    {"clock"},
	"quota":    {"internal"},
	"reasons":  {},
	"internal": {},
	// Adapters of the root package.
	"internal/simulatedmetrics": {"clock", "apiserver", "kubeletsim"},
	"internal/sharing":          {"clock", "internal"},
	"internal/accessapi":        {"clock", "apiserver", "internal", "."},
	"internal/clockapi":         {"clock", "internal", "."},
	"internal/loopapi":          {"clock", "internal", "controllers/loop", "."},
	"internal/forkapi":          {"clock", "internal", "internal/clockapi", "internal/ui", "dump", "store", "apiserver", "kubeletsim", "."},
	"internal/scenarioapi":      {"clock", "internal", "scenarios", "."},
	"internal/writeexport":      {"."},
	"internal/ui":               {"ui", "clock", "internal/ui/feeds", "."},
	"internal/ui/feeds":         {"clock"},
	"internal/runner":           {"clock", "internal", "kubeletsim/podspec"},
	"ui":                        {},
	"apiserver":                 {"clock", "store", "quota", "reasons", "internal"},
	"controllers":               {"clock", "quota", "internal"},
	"kubeletsim":                {"clock", "controllers/loop", "internal/celtext", "internal/csivolume", "internal/hostaddress", "internal/quantity", "internal/simulatedcloud"},
	"dump":                      {"reasons", "internal"},
	"scenarios":                 {"clock", "reasons", "internal", "dump", "."},
	".":                         {"clock", "reasons", "internal", "internal/simulatedmetrics", "internal/sharing", "dump", "store", "apiserver", "controllers", "kubeletsim"},
	"capacity":                  {"clock", "reasons", "internal", "dump", "controllers", "kubeletsim", "scenarios", "."},
	"minikcmtest":               {"clock", "store", "apiserver", "controllers", "kubeletsim", "dump", "internal/writeexport", "scenarios/nodepools", "."},
	"cmd":                       {"clock", "reasons", "internal", "internal/accessapi", "internal/clockapi", "internal/forkapi", "internal/loopapi", "internal/runner", "internal/scenarioapi", "internal/ui", "internal/writeexport", "store", "apiserver", "controllers", "kubeletsim", "dump", "scenarios", "capacity", "minikcmtest", "."},
	"test":                      {"clock", "reasons", "internal", "internal/clockapi", "internal/forkapi", "internal/loopapi", "internal/scenarioapi", "dump", "store", "apiserver", "controllers", "kubeletsim", "scenarios", "minikcmtest", "cmd", "."},
	"examples":                  {"clock", "minikcmtest", "."},
}

// testsOnClusters are the folders whose tests may start whole clusters.
var testsOnClusters = []string{"dump", "capacity", "controllers", "kubeletsim", "scenarios", "apiserver", "internal/sharing", "internal/runner", "internal/ui", "."}

// neverImport are modules that must not be imported, with the reasons.
var neverImport = map[string]string{
	"k8s.io/kubernetes":           "upstream's own code stays out of the binary",
	"github.com/stretchr/testify": "tests are plain Go and go-cmp",
	"golang.org/x/exp":            "the standard library has it",
}

// onlyIn maps a module to the folder that may import it. Tests may import it, too.
var onlyIn = map[string]string{
	"sigs.k8s.io/controller-runtime": "minikcmtest/ctrltest",
	module + "/minikcmtest/ctrltest": "minikcmtest/ctrltest",
}

func checkImports(t *tree) {
	for _, f := range t.files {
		folder, known := topFolder(f.dir)
		if !known {
			t.reportf(f, f.ast.Package, "the folder %s is not in the import table of tools/verify/imports.go", folder)
			continue
		}
		for _, spec := range f.ast.Imports {
			imported := importPath(spec)
			for never, why := range neverImport {
				if within(imported, never) {
					t.reportf(f, spec.Pos(), "imports %s: %s", imported, why)
				}
			}
			for only, in := range onlyIn {
				if within(imported, only) && !within(f.dir, in) && !f.test {
					t.reportf(f, spec.Pos(), "imports %s: only %s does", imported, in)
				}
			}
			if f.test && imported == module+"/test/golden" { // every test may use it: it imports nothing of ours
				continue
			}
			if target, ours := ourFolder(imported); ours && !allowed(folder, target, imported, f.test) {
				t.reportf(f, spec.Pos(), "%s must not import %s", folder, imported)
			}
		}
	}
}

// topFolder returns the row of the table that dir belongs to: that of dir itself, or that of
// its first element.
func topFolder(dir string) (folder string, known bool) {
	if _, known = mayImport[dir]; known {
		return dir, true
	}
	folder, _, _ = strings.Cut(dir, "/")
	_, known = mayImport[folder]
	return folder, known
}

// ourFolder returns the row of the table that an import path belongs to.
func ourFolder(imported string) (folder string, ours bool) {
	if !within(imported, module) {
		return "", false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	if rest == "" {
		return ".", true
	}
	folder, _ = topFolder(rest)
	return folder, true
}

func allowed(from, to, imported string, test bool) bool {
	if from == to {
		return true
	}
	if test && (to == "." || to == "minikcmtest") {
		for _, folder := range testsOnClusters {
			if from == folder {
				return true
			}
		}
	}
	for _, folder := range mayImport[from] {
		if folder == to || strings.Contains(folder, "/") && within(imported, module+"/"+folder) {
			return true
		}
	}
	return false
}
