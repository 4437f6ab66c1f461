package main

import (
	"path"
	"slices"
	"strings"
)

// pure lists the packages whose functions compute their results from their arguments alone.
// A pure package may only import those of our packages that are pure, so that the rule also
// holds for the functions that it calls.
var pure = []string{
	"apiserver/codec",
	"apiserver/resources/columns",
	"apiserver/resources/validation",
	"apiserver/resources/warnings",
	"clock/internal/hash",
	"internal/spell",
	"kubeletsim/applets",
	"kubeletsim/lifecycle",
	"kubeletsim/podspec",
	"kubeletsim/responses",
	"kubeletsim/script",
	"kubeletsim/shelltree",
	"kubeletsim/span",
	"kubeletsim/usage",
	"reasons",
}

// impure are the imports through which code waits, shares state, or reaches the API, the
// network, the machine or a log.
var impure = []string{
	"context", "sync", "net/http", "os", "log", "k8s.io/client-go", "k8s.io/klog", "k8s.io/utils/clock",
}

// pureParts are the pure packages of modules in impure.
var pureParts = []string{"k8s.io/client-go/util/jsonpath"}

func checkPurity(t *tree) {
	for _, f := range t.files {
		if f.test || !slices.Contains(pure, f.dir) && !isDecision(f) {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported := importPath(spec)
			if !slices.Contains(pureParts, imported) && slices.ContainsFunc(impure, func(not string) bool { return within(imported, not) }) {
				t.reportf(f, spec.Pos(), "pure code imports %s", imported)
			}
			beneath, ours := strings.CutPrefix(imported, module+"/")
			if ours && !isDecision(f) && !slices.Contains(pure, beneath) {
				t.reportf(f, spec.Pos(), "pure code imports %s, which is not in the table pure", imported)
			}
			if isDecision(f) && slices.Contains(notInDecisions, imported) {
				t.reportf(f, spec.Pos(), "pure code imports %s", imported)
			}
		}
	}
}

// notInDecisions are our packages that wait or call the API.
var notInDecisions = []string{
	module + "/clock/events", module + "/controllers/env", module + "/controllers/loop",
}

// isDecision reports whether a file contains a controller's decision. The code that executes
// the decision is in other files of the same package.
func isDecision(f *file) bool {
	base := strings.TrimSuffix(path.Base(f.path), ".go")
	return within(f.dir, "controllers") && (base == "decide" || strings.HasPrefix(base, "decide_")) && !f.test
}
