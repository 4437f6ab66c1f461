package main

import (
	"slices"
	"strings"
)

// inFolder lists the packages of its own top folder that a package may import, by their paths
// within that folder. "." is the folder's own package, "*" means all, and a path that begins
// with "./" is beneath the package that imports it. inFolderDefault applies to a package that
// is not listed.
var inFolder = map[string][]string{
	"clock":           {"inflight", "internal/hash"},
	"clock/election":  {".", "inflight"},
	"clock/events":    {".", "inflight"},
	"clock/inflight":  {"internal/hash"},
	"clock/informers": {".", "inflight", "reference"},

	"internal/cellimits":    {"celtext", "regexcost", "quantityguard"},
	"internal/featuregates": {"releases", "spell"},

	"store":           {"pages"},
	"store/faulty":    {"."},
	"store/storetest": {"."},

	"apiserver":                       {"*"},
	"apiserver/admission":             {"auth", "resources", "resources/validation"},
	"apiserver/admission/podsecurity": {"admission"},
	"apiserver/admission/imagepolicy": {"admission", "outbound"},
	"apiserver/admission/hooks":       {"admission", "admission/manifests", "auth", "outbound", "resources"},
	"apiserver/admission/manifests":   {"configfile", "resources"},
	"apiserver/admission/plugins":     {"admission", "admission/hooks", "admission/imagepolicy", "admission/podsecurity", "auth", "resources", "storage", "strategy", "watchcache"},
	"apiserver/audit":                 {"auth", "codec"},
	"apiserver/aggregator":            {"apiservices", "auth", "discovery", "flow", "openapi", "outbound", "storage", "watchcache"},
	"apiserver/apiservices":           {"resources", "resources/columns"},
	"apiserver/authn":                 {"auth", "configfile", "gate", "outbound", "reload"},
	"apiserver/authz":                 {"auth", "configfile", "outbound"},
	"apiserver/crd":                   {"codec", "openapi", "outbound", "resources"},
	"apiserver/codec":                 {"deflate"},
	"apiserver/discovery":             {"codec", "openapi", "resources", "response"},
	"apiserver/deflate":               {},
	"apiserver/encodings":             {"deflate", "watchcache"},
	"apiserver/encryption":            {"configfile", "gate", "reload"},
	"apiserver/eviction":              {"response", "storage", "verbs"},
	"apiserver/fieldplan":             {},
	"apiserver/fieldmanager":          {"ownership", "resources", "strategy"},
	"apiserver/metrics":               {"admission", "encodings", "pressure", "request"},
	"apiserver/metricsapi":            {"resources", "response"},
	"apiserver/nodeauthorizer":        {"auth", "rbac"},
	"apiserver/openapi":               {"resources"},
	"apiserver/ownership":             {"openapi"},
	"apiserver/flow":                  {"auth"},
	"apiserver/ownobjects":            {"fieldmanager", "rbac/policy", "resources", "storage", "strategy"},
	"apiserver/peers":                 {"auth"},
	"apiserver/pressure":              {},
	"apiserver/rbac":                  {"admission", "auth"},
	"apiserver/rbac/accessrecord":     {"auth", "rbac/leastprivilege"},
	"apiserver/identity":              {"resources"},
	"apiserver/reload":                {"configfile"},
	"apiserver/request":               {"audit", "auth", "codec", "encodings", "pressure", "resources", "response", "slowclient", "storage", "strategy", "watchcache"},
	"apiserver/resources":             {"fieldplan", "resources/columns", "resources/validation", "resources/warnings"},
	"apiserver/resources/warnings":    {"resources/validation"},
	"apiserver/reviews":               {"auth", "request", "resources", "storage"},
	"apiserver/response":              {"audit", "codec", "deflate", "slowclient"},
	"apiserver/served":                {"crd", "gate", "openapi", "outbound", "resources", "storage", "strategy", "watchcache"},
	"apiserver/serviceip":             {"codec"},
	"apiserver/services":              {"codec", "fieldmanager", "request", "resources", "serviceip", "storage", "strategy", "writerecord"},
	"apiserver/storage":               {"codec", "resources", "watchcache"},
	"apiserver/strategy":              {"resources"},
	"apiserver/streaming":             {"auth", "peers", "remote", "resources", "response", "slowclient"},
	"apiserver/transport":             {"auth"},
	"apiserver/upkeep":                {"resources", "storage"},
	"apiserver/verbs":                 {"admission", "codec", "faults", "fieldmanager", "flow", "request", "resources", "response", "slowclient", "storage", "strategy", "transport", "watchcache", "writerecord"},

	"controllers/certificates/approving":           {"certificates", "env", "loop"},
	"controllers/certificates/cleaner":             {"certificates", "env", "executor", "loop"},
	"controllers/certificates/signing":             {"certificates", "env", "loop"},
	"controllers/cloud":                            {"env", "loop"},
	"controllers/cloud/cloudtest":                  {"executor", "modeltest", "plan"},
	"controllers/cloudnode":                        {"cloud", "env", "loop", "./decide"},
	"controllers/cloudnodelifecycle":               {"cloud", "env", "loop", "./decide"},
	"controllers/controllerref":                    {},
	"controllers/cronjob":                          {"controllerref", "dependents", "env", "executor", "job/conditions", "loop", "owner", "plan", "./decide"},
	"controllers/cronjob/decide":                   {"job/conditions", "plan"},
	"controllers/dependents":                       {"controllerref", "loop", "plan"},
	"controllers/devicetainteviction":              {"devicetaints", "env", "executor", "loop", "nodelifecycle/disruption", "./decide"},
	"controllers/devicetaints":                     {},
	"controllers/endpoints":                        {"endpointslice/selection", "env", "executor", "loop", "./decide"},
	"controllers/endpointslice":                    {"dependents", "endpointslice/difference", "endpointslice/selection", "env", "loop"},
	"controllers/endpointslice/endpointslicetest":  {"executor"},
	"controllers/env":                              {"loop"},
	"controllers/executor":                         {"loop", "plan"},
	"controllers/garbagecollector":                 {"env", "garbagecollector/graph", "loop"},
	"controllers/history":                          {"plan"},
	"controllers/holdings":                         {},
	"controllers/history/collision":                {"controllerref", "executor", "loop", "plan"},
	"controllers/job":                              {"dependents", "env", "executor", "job/conditions", "loop", "owner", "plan", "tally", "./decide"},
	"controllers/job/decide":                       {"controllerref", "holdings", "job/conditions", "job/indexes", "plan"},
	"controllers/loop":                             {},
	"controllers/manager":                          {"*"},
	"controllers/manager/election":                 {},
	"controllers/manager/process":                  {"env", "manager", "manager/election", "manager/serving"},
	"controllers/manager/serving":                  {"manager"},
	"controllers/modeltest":                        {"executor", "loop", "plan"},
	"controllers/nodelifecycle":                    {"env", "loop", "nodelifecycle/bynode", "./decide"},
	"controllers/noderoute":                        {"cloud", "env", "loop", "./decide"},
	"controllers/owner":                            {"dependents", "executor", "loop", "plan"},
	"controllers/persistentvolumeattachdetach":     {"env", "loop", "nodelifecycle/bynode", "volumeindex", "./decide"},
	"controllers/persistentvolumebinder":           {"env", "executor", "loop", "plan", "volumeindex", "./decide"},
	"controllers/persistentvolumeexpander":         {"env", "loop", "volumeindex"},
	"controllers/plan":                             {},
	"controllers/podgc":                            {"env", "loop", "nodelifecycle/bynode", "nodelifecycle/disruption"},
	"controllers/protection":                       {},
	"controllers/protection/guard":                 {"protection"},
	"controllers/pvcprotection":                    {"env", "loop", "protection/guard", "volumeindex", "./decide"},
	"controllers/pvcprotection/decide":             {},
	"controllers/pvprotection":                     {"env", "loop", "protection/guard"},
	"controllers/podgroupprotection":               {"env", "loop", "protection"},
	"controllers/resourcepoolstatusrequest":        {"env", "executor", "loop", "./decide"},
	"controllers/resourcepoolstatusrequest/decide": {"devicetaints"},
	"controllers/vacprotection":                    {"env", "loop", "protection/guard"},
	"controllers/replicationcontroller":            {"env", "replicaset"},
	"controllers/scheduler":                        {"devicetaints", "env", "scheduler/cache", "scheduler/config", "scheduler/explain", "scheduler/extender", "scheduler/framework", "scheduler/inventory", "scheduler/plugins", "scheduler/queue", "volumeindex"},
	"controllers/scheduler/cache":                  {"scheduler/framework"},
	"controllers/scheduler/config":                 {"scheduler/extender", "scheduler/plugins"},
	"controllers/scheduler/explain":                {"scheduler/framework", "scheduler/plugins"},
	"controllers/scheduler/extender":               {"scheduler/framework", "scheduler/plugins"},
	"controllers/scheduler/framework":              {},
	"controllers/scheduler/inventory":              {"devicetaints", "scheduler/framework"},
	"controllers/scheduler/plugins":                {"scheduler/framework"},
	"controllers/scheduler/queue":                  {"scheduler/framework"},
	"controllers/scheduler/schedulertest":          {},
	"controllers/tally":                            {"loop"},
	"controllers/tainteviction":                    {"env", "executor", "loop", "nodelifecycle/bynode", "nodelifecycle/disruption", "./decide"},
	"controllers/ttlafterfinished":                 {"env", "job/conditions", "loop"},
	"controllers/volumeattacher":                   {"env", "loop", "volumeindex", "volumeprovisioner/decide", "./decide"},
	"controllers/volumeattacher/decide":            {"volumeprovisioner/decide"},
	"controllers/volumeindex":                      {},
	"controllers/volumeprovisioner":                {"env", "loop", "volumeindex", "./decide"},

	"kubeletsim":                 {"*"},
	"kubeletsim/applets":         {"span"},
	"kubeletsim/awk":             {},
	"kubeletsim/box":             {"applets", "awk", "memfs", "shell", "span", "unknown"},
	"kubeletsim/certgen":         {},
	"kubeletsim/containers":      {"applets", "box", "certgen", "images", "lifecycle", "logs", "memfs", "nodes", "podcertificates", "podspec", "responses", "script", "shell", "span", "unknown", "usage"},
	"kubeletsim/eviction":        {"podspec", "usage"},
	"kubeletsim/images":          {"podspec", "responses"},
	"kubeletsim/kwok":            {"kwokcel", "stages", "usage"},
	"kubeletsim/kwokcel":         {},
	"kubeletsim/kwokwatch":       {"kwok", "stages"},
	"kubeletsim/lifecycle":       {"podspec", "responses", "script", "span", "usage"},
	"kubeletsim/logs":            {"script"},
	"kubeletsim/nodes":           {"eviction", "lifecycle", "podspec"},
	"kubeletsim/podcertificates": {"lifecycle"},
	"kubeletsim/podspec":         {"span"},
	"kubeletsim/responses":       {"podspec"},
	"kubeletsim/script":          {"applets", "podspec", "shelltree", "span"},
	"kubeletsim/memfs":           {"unknown"},
	"kubeletsim/shell":           {"shelltree", "unknown"},
	"kubeletsim/shelltree":       {},
	"kubeletsim/stagerunner":     {"kwokwatch", "stages"},
	"kubeletsim/stages":          {},
	"kubeletsim/staticpods":      {"podspec"},
	"kubeletsim/summary":         {},
	"kubeletsim/unknown":         {},
	"kubeletsim/usage":           {"podspec", "span"},

	"scenarios":           {"*"},
	"scenarios/chaosmesh": {"definitions", "fault"},
	"scenarios/check":     {"spec"},
	"scenarios/evolution": {"definitions"},
	"scenarios/fault":     {"spec"},
	"scenarios/faultapi":  {"fault", "spec"},
	"scenarios/nodepools": {"spec"},
	"scenarios/spec":      {},
	"scenarios/report":    {"runrecord"},

	"minikcmtest/ctrltest": {"."},
}

// inFolderDefault applies to the packages that inFolder does not list: by default, a package
// may import none. Most controllers only import the packages that all of them share, and their
// own decisions.
var inFolderDefault = map[string][]string{
	"controllers": {"controllerref", "dependents", "env", "executor", "history", "history/collision", "holdings", "loop", "owner", "plan", "scales", "tally", "./decide"},
	// The command line and the tests of several folders are not layered.
	"cmd": {"*"}, "test": {"*"}, "examples": {"*"}, ".": {"*"},
}

// withoutCluster lists the packages that convert between text and structures and know no
// cluster, with the folders of ours that they may import. They import no client either.
var withoutCluster = map[string][]string{
	"scenarios/spec": {"internal"},
}

// clients are the modules that a package of withoutCluster must not import.
var clients = []string{"k8s.io/client-go", "k8s.io/kubectl", "k8s.io/apiserver"}

func checkWithoutCluster(t *tree) {
	for _, f := range t.files {
		may, listed := withoutCluster[f.dir]
		if !listed || f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported := importPath(spec)
			target, ours := ourFolder(imported)
			client := slices.ContainsFunc(clients, func(c string) bool { return within(imported, c) })
			if client || ours && !slices.Contains(may, target) && imported != module+"/"+f.dir {
				t.reportf(f, spec.Pos(), "%s must not import %s: it knows no cluster", f.dir, imported)
			}
		}
	}
}

// checkSubfolders checks the layers within each top folder. Tests are not restricted.
func checkSubfolders(t *tree) {
	for _, f := range t.files {
		folder, known := topFolder(f.dir)
		if !known || f.test {
			continue
		}
		may, listed := inFolder[f.dir]
		if !listed {
			may = inFolderDefault[folder]
		}
		for _, spec := range f.ast.Imports {
			imported := importPath(spec)
			if target, ours := ourFolder(imported); !ours || target != folder || slices.Contains(may, "*") {
				continue
			}
			beneath := strings.TrimPrefix(strings.TrimPrefix(imported, module+"/"+folder), "/")
			if beneath == "" {
				beneath = "."
			}
			inside, isInside := strings.CutPrefix(imported, module+"/"+f.dir+"/")
			if !slices.Contains(may, beneath) && (!isInside || !slices.Contains(may, "./"+inside)) {
				t.reportf(f, spec.Pos(), "%s must not import %s", f.dir, imported)
			}
		}
	}
}
