package main

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// pure lists the packages whose functions compute their results from their arguments alone.
// A pure package may only import those of our packages that are pure, so that the rule also
// holds for the functions that it calls. A package named decide has to be here.
var pure = []string{
	"apiserver/codec",
	"apiserver/deflate",
	"apiserver/fieldplan",
	"apiserver/rbac/leastprivilege",
	"apiserver/resources/columns",
	"apiserver/resources/validation",
	"apiserver/resources/warnings",
	"clock/internal/hash",
	"controllers/bootstrapsigner/decide",
	"controllers/cloudnode/decide",
	"controllers/cloudnodelifecycle/decide",
	"controllers/controllerref",
	"controllers/clusterroleaggregation/decide",
	"controllers/cronjob/decide",
	"controllers/daemonset/decide",
	"controllers/deployment/decide",
	"controllers/devicedriver/decide",
	"controllers/devicetainteviction/decide",
	"controllers/devicetaints",
	"controllers/disruption/decide",
	"controllers/endpoints/decide",
	"controllers/endpointslicemirroring/decide",
	"controllers/garbagecollector/graph",
	"controllers/history",
	"controllers/holdings",
	"controllers/job/conditions",
	"controllers/job/decide",
	"controllers/job/indexes",
	"controllers/legacyserviceaccounttokencleaner/decide",
	"controllers/namespace/decide",
	"controllers/nodeipam/decide",
	"controllers/nodelifecycle/decide",
	"controllers/noderoute/decide",
	"controllers/persistentvolumeattachdetach/decide",
	"controllers/persistentvolumebinder/decide",
	"controllers/plan",
	"controllers/podautoscaler/decide",
	"controllers/protection",
	"controllers/pvcprotection/decide",
	"controllers/replicaset/decide",
	"controllers/resourceclaim/decide",
	"controllers/resourcepoolstatusrequest/decide",
	"controllers/resourcequota/decide",
	"controllers/rootca/decide",
	"controllers/scheduler/explain",
	"controllers/scheduler/framework",
	"controllers/scheduler/plugins",
	"controllers/selinuxwarning/decide",
	"controllers/servicecidrs/decide",
	"controllers/statefulset/decide",
	"controllers/storageversiongarbagecollector/decide",
	"controllers/storageversionmigrator/decide",
	"controllers/tainteviction/decide",
	"controllers/trustbundlepublisher/decide",
	"controllers/volumeattacher/decide",
	"controllers/volumeprovisioner/decide",
	"internal/celtext",
	"internal/csivolume",
	"internal/hostaddress",
	"internal/partitiontype",
	"internal/quantity",
	"internal/quantityguard",
	"internal/resourcename",
	"internal/storageversions",
	"internal/simulatedcloud",
	"internal/spell",
	"kubeletsim/applets",
	"kubeletsim/eviction",
	"kubeletsim/kwok",
	"kubeletsim/kwokcel",
	"kubeletsim/lifecycle",
	"kubeletsim/podspec",
	"kubeletsim/responses",
	"kubeletsim/script",
	"kubeletsim/shelltree",
	"kubeletsim/span",
	"kubeletsim/stages",
	"kubeletsim/staticpods",
	"kubeletsim/summary",
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
		switch {
		case f.test:
		case slices.Contains(pure, f.dir):
			t.checkPure(f)
		case path.Base(f.dir) == "decide":
			t.reportf(f, f.ast.Package, "package %s is a decision and not in the table pure", f.dir)
		}
	}
}

func (t *tree) checkPure(f *file) {
	for _, spec := range f.ast.Imports {
		imported := importPath(spec)
		if imported == "sync" && f.onlyMemory() {
			continue
		}
		if !slices.Contains(pureParts, imported) && slices.ContainsFunc(impure, func(not string) bool { return within(imported, not) }) {
			t.reportf(f, spec.Pos(), "pure code imports %s", imported)
		}
		if beneath, ours := strings.CutPrefix(imported, module+"/"); ours && !slices.Contains(pure, beneath) {
			t.reportf(f, spec.Pos(), "pure code imports %s, which is not in the table pure", imported)
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
