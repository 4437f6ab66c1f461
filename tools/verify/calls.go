package main

import (
	"go/ast"
	"slices"
)

// forbidden lists the functions and types of a package that only the clock folder may use.
type forbidden struct {
	names   []string // if empty, all names are forbidden except for those in but
	but     []string
	instead string
}

const (
	askClock  = "take a clock.Clock"
	askRandom = "take a *clock.Random"
)

var forbiddenUses = map[string]forbidden{
	"time": {
		names:   []string{"Now", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"},
		instead: askClock,
	},
	"math/rand": {
		but:     []string{"New", "NewSource", "NewZipf", "Rand", "Source", "Source64", "Zipf"},
		instead: askRandom,
	},
	"math/rand/v2": {
		but:     []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"},
		instead: askRandom,
	},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {names: []string{"Now", "NowMicro"}, instead: askClock},
	"k8s.io/apimachinery/pkg/util/rand":    {but: []string{"SafeEncodeString"}, instead: askRandom},
	"k8s.io/apimachinery/pkg/util/uuid":    {instead: askRandom},
	"k8s.io/utils/clock":                   {names: []string{"RealClock"}, instead: "call clock.Real"},
	"k8s.io/apimachinery/pkg/util/wait": {
		names: []string{
			"Poll", "PollImmediate", "PollInfinite", "PollImmediateInfinite", "PollUntil", "PollImmediateUntil",
			"PollUntilContextCancel", "PollUntilContextTimeout", "Until", "UntilWithContext", "JitterUntil",
			"JitterUntilWithContext", "NonSlidingUntil", "NonSlidingUntilWithContext", "Forever",
			"ExponentialBackoff", "ExponentialBackoffWithContext", "BackoffUntil",
		},
		instead: "wait on what changes, or " + askClock,
	},
}

func checkCalls(t *tree) {
	for _, f := range t.files {
		if within(f.dir, "clock") {
			continue
		}
		rules := map[string]forbidden{}
		for _, spec := range f.ast.Imports {
			rule, ok := forbiddenUses[importPath(spec)]
			if !ok {
				continue
			}
			rules[importName(spec)] = rule
			if importPath(spec) == "k8s.io/apimachinery/pkg/apis/meta/v1" && spec.Name == nil {
				rules["v1"] = rule
			}
		}
		if len(rules) == 0 {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			rule, ok := rules[pkg.Name]
			if ok && rule.forbids(sel.Sel.Name) {
				t.reportf(f, sel.Pos(), "%s.%s outside clock/: %s", pkg.Name, sel.Sel.Name, rule.instead)
			}
			return true
		})
	}
}

func (r forbidden) forbids(name string) bool {
	if slices.Contains(r.but, name) {
		return false
	}
	return len(r.names) == 0 || slices.Contains(r.names, name)
}
