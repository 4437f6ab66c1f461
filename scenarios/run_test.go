package scenarios

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/golden"
)

// transcript is a Progress that keeps all texts, without the machine's times.
type transcript struct {
	strings.Builder
	began, ended int
	behind       []string
}

func (tr *transcript) Begin(s *Scenario) {
	tr.began++
	fmt.Fprintf(tr, "%s\n", s.Metadata.Name)
}

func (tr *transcript) StepBegins(title string) { fmt.Fprintf(tr, "  %s", title) }

func (tr *transcript) StepEnded(step StepResult) {
	word := "ok"
	if step.Failure != nil {
		word = "failed"
	}
	fmt.Fprintf(tr, ": %s after %v\n", word, step.Cluster)
	for _, note := range step.Notes {
		fmt.Fprintf(tr, "    %s\n", note)
	}
}

func (tr *transcript) BackgroundNote(title, note string) {
	tr.behind = append(tr.behind, title+": "+note)
}

func (tr *transcript) Stalled(d time.Duration, inFlight string) {
	fmt.Fprintf(tr, "    stalled for %v: %s\n", d, inFlight)
}

func (tr *transcript) End(result *Result) {
	tr.ended++
	if result.Failure == nil {
		fmt.Fprintf(tr, "passed after %v, seed %d\n", result.Cluster, result.Seed)
		return
	}
	fmt.Fprintf(tr, "failed after %v, seed %d: %s\n", result.Cluster, result.Seed, strings.ReplaceAll(result.Failure.Error(), "\n", "\n  "))
}

// runScenario runs the only scenario of a text.
func runScenario(t *testing.T, text string, opts Options) (*Result, *transcript) {
	t.Helper()
	found, err := Parse("scenario.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return runFound(t, found, opts)
}

// runFound runs the first scenario that was found.
func runFound(t *testing.T, found []*Scenario, opts Options) (*Result, *transcript) {
	t.Helper()
	tr := &transcript{}
	opts.Progress = tr
	result, err := Run(t.Context(), found[0], opts)
	if err != nil {
		t.Fatal(err)
	}
	if tr.began != 1 || tr.ended != 1 {
		t.Errorf("Begin was called %d times and End %d times", tr.began, tr.ended)
	}
	return result, tr
}

func libraryText(t *testing.T, name string) string {
	t.Helper()
	data, err := libraryFiles.ReadFile("library/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shorter are variables that make a scenario a matter of seconds.
var shorter = map[string]map[string]string{"pod-kill-storm": {"KILLS": "200"}}

var seeds = flag.Uint64("seeds", 2, "with how many seeds each scenario of the library is run")

// What is shipped passes, in virtual time with any seed.
func TestLibrary(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		found, err := Find(name, shorter[name])
		if err != nil {
			t.Fatal(err)
		}
		s := found[0]
		for seed := uint64(1); seed <= *seeds; seed++ {
			t.Run(fmt.Sprintf("%s with seed %d", s.Metadata.Name, seed), func(t *testing.T) {
				t.Parallel()
				tr := &transcript{}
				result, err := Run(t.Context(), s, Options{Seed: seed, Progress: tr})
				if err != nil {
					t.Fatal(err)
				}
				if result.Failure != nil || !strings.HasPrefix(result.Text(), "PASS "+s.Metadata.Name+" in ") {
					t.Errorf("%s\n%s", result.Text(), tr)
				}
				if len(result.Steps) != len(s.Spec.Steps) {
					t.Errorf("%d of %d steps were run", len(result.Steps), len(s.Spec.Steps))
				}
			})
		}
	}
}

var (
	generatedName = regexp.MustCompile(`web-[0-9a-f]+(-[0-9a-z]{5})?`)
	generatedDB   = regexp.MustCompile(`db-[0-9a-f]{8,}-[0-9a-z]{5}`)
	uid           = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	measured      = regexp.MustCompile(`(before|polling|informer|shared|custom) is [\d.]+`)
	nearestEvent  = regexp.MustCompile(`the nearest of \d+ is event \S+:`)
)

// withoutNames replaces names and numbers that depend on earlier random choices.
func withoutNames(text string) string {
	text = measured.ReplaceAllString(text, "$1 is N")
	text = generatedDB.ReplaceAllString(text, "db-XXX")
	text = generatedName.ReplaceAllString(uid.ReplaceAllString(text, "UID"), "web-XXX")
	return nearestEvent.ReplaceAllString(text, "the nearest is an event:")
}

// A scenario that only ever passes shows nothing: each goes red when what it shows
// is broken, and says what differed.
func TestMutations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ scenario, old, new string }{
		"pod-kill-without-replicasets":       {"pod-kill", "nodes: 3", "nodes: 3\n    controllers: ['*', -replicaset-controller]"},
		"pod-kill-without-endpointslices":    {"pod-kill", "nodes: 3", "nodes: 3\n    controllers: ['*', -endpointslice-controller]"},
		"default-deny-that-denies-nothing":   {"default-deny", "spec: {podSelector: {}, policyTypes: [Ingress, Egress]}", "spec: {podSelector: {matchLabels: {app: other}}, policyTypes: [Ingress, Egress]}"},
		"default-deny-of-another-port":       {"default-deny", "ports: [{port: sql}]", "ports: [{port: 5433}]"},
		"pod-kill-without-nodes":             {"pod-kill", "nodes: 3", "nodes: 0"},
		"pod-kill-of-two":                    {"pod-kill", "replicas: 3\n              sel", "replicas: 2\n              sel"},
		"pod-kill-of-more-than-there-are":    {"pod-kill", "selector: app=web\n    - name: a replacement", "selector: app=web\n          count: 4\n    - name: a replacement"},
		"pod-kill-of-none":                   {"pod-kill", "- kill:\n        pods:\n          selector: app=web", "- wait: {target: deployment/web, for: condition=Available}"},
		"node-loss-without-lifecycle":        {"node-loss", "nodes: 3", "nodes: 3\n    controllers: ['*', -node-lifecycle-controller]"},
		"node-loss-without-eviction":         {"node-loss", "nodes: 3", "nodes: 3\n    controllers: ['*', -taint-eviction-controller]"},
		"node-loss-of-the-only-node":         {"node-loss", "nodes: 3", "nodes: 1"},
		"node-loss-of-an-unknown-node":       {"node-loss", "node: node-0", "node: node-9"},
		"crashloop-that-ends-well":           {"crashloop", `minikcm.dev/exit-code: "3"`, `minikcm.dev/exit-code: "0"`},
		"job-backoff-without-limit":          {"job-backoff", "backoffLimit: 3", "backoffLimit: 5"},
		"cron-dst-in-utc":                    {"cron-dst", "timeZone: Europe/Berlin", "timeZone: Etc/UTC"},
		"statefulset-in-parallel":            {"statefulset-ordered-recovery", "serviceName: db", "serviceName: db\n              podManagementPolicy: Parallel"},
		"drain-without-budget":               {"drain-with-pdb", "minAvailable: 3", "minAvailable: 0"},
		"hpa-without-load":                   {"hpa-surge", `minikcm.dev/load-cpu: "400m"`, `minikcm.dev/load-cpu: "40m"`},
		"namespace-without-collector":        {"namespace-stuck", "nodes: 1", "nodes: 1, controllers: ['*', -namespace-controller]"},
		"gc-without-collector":               {"gc-cascade", "nodes: 2", "nodes: 2, controllers: ['*', -garbage-collector-controller]"},
		"bad-rollout-that-takes-pods":        {"bad-rollout-rollback", "maxUnavailable: 0, maxSurge: 1", "maxUnavailable: 1, maxSurge: 0"},
		"rolling-update-of-nothing":          {"rolling-update-under-fire", `image: "${NEW}"`, `image: "nginx:1.28"`},
		"pod-kill-storm-with-less-budget":    {"pod-kill-storm", "minAvailable: 3", "minAvailable: 2"},
		"apiserver-flaky-for-good":           {"apiserver-flaky", "percent: 33}\n        for: 3m", "percent: 100}\n        for: 20m"},
		"watch-expired-without-replicasets":  {"watch-expired", "nodes: 3", "nodes: 3, controllers: ['*', -replicaset-controller]"},
		"etcd-outage-without-a-kill":         {"etcd-outage", "- kill: {pods: {selector: app=web}}", "- sleep: 1s"},
		"leader-failover-that-never-happens": {"leader-failover", "for: 30s", "for: 20m"},
		"node-loss-in-too-little-time":       {"node-loss", "within: 10m", "within: 1m"},
		"evolution-with-a-poller-left":       {"evolution", "spec: {by: custom, for: 10m}", "spec: {by: custom, for: 10m}\n          - {apiVersion: evolution.minikcm.dev/v1, kind: Reconciler, metadata: {name: left, namespace: default}, spec: {by: polling, for: 10m}}"},
		"evolution-of-nothing":               {"evolution", "by: custom", "by: shared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := libraryText(t, test.scenario)
			mutated := strings.Replace(text, test.old, test.new, 1)
			if mutated == text {
				t.Fatalf("%q is not in %s", test.old, test.scenario)
			}
			switch test.scenario {
			case "pod-kill-storm":
				mutated = strings.Replace(mutated, "86400", "200", 1)
			case "evolution":
				mutated = strings.NewReplacer("for: 10m", "for: 2m", "times: 19", "times: 3", "-18", "-2").Replace(mutated)
			}
			result, tr := runScenario(t, mutated, Options{})
			if result.Failure == nil || !strings.HasPrefix(result.Text(), "FAIL "+test.scenario+" in ") {
				t.Errorf("it passes: %s", result.Text())
			}
			golden.Compare(t, "testdata/"+name+".golden", withoutNames(tr.String()))
		})
	}
}

const header = `
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: test}
spec:
`

// What only the cluster knows is reported by the step that finds it.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"apply-unknown-kind":  `  steps: [{apply: {objects: [{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}]}}]`,
		"apply-unknown-field": `  steps: [{apply: {fails: is immutable, objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dada: {b: c}}]}}]`,
		"apply-invalid":       `  steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: A_B}}]}}]`,
		"apply-no-namespace":  `  steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}}]}}]`,
		"wait-unknown-kind":   `  steps: [{wait: {target: widget/a, for: delete}}]`,
		"wait-in-vain":        `  steps: [{wait: {target: pod/a, for: create}}]`,
		"wait-selector":       `  steps: [{wait: {target: pods, selector: app=web, for: condition=Ready, within: 9m}}]`,
		"wait-for-end":        `  steps: [{wait: {target: namespace/default, for: delete, within: 3s}}]`,
		"expect-unknown-kind": `  steps: [{expect: {objects: [{apiVersion: example.com/v1, kind: Widget}]}}]`,
		"expect-now":          `  steps: [{expect: {objects: [{apiVersion: v1, kind: Pod}]}}]`,
		"expect-named":        `  steps: [{expect: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}}]`,
		"expect-absent":       `  steps: [{expect: {absent: [{apiVersion: v1, kind: Namespace, metadata: {name: default}}]}}]`,
		"expect-several":      `  steps: [{expect: {within: 1s, absent: [{apiVersion: v1, kind: Node, metadata: {name: node-1}}], objects: [{apiVersion: v1, kind: Node, spec: {unschedulable: true}}], counts: [{target: no, equals: 7}, {target: nodes, equals: 3}]}}]`,
		"count-unknown-kind":  `  steps: [{expect: {counts: [{target: widgets, equals: 0}]}}]`,
		"count-bad-field":     `  steps: [{expect: {counts: [{target: pods, fieldSelector: spec.mood=good, equals: 0}]}}]`,
		"kill-none":           `  steps: [{kill: {pods: {selector: app=web}}}]`,
		"reachable":           `  steps: [{apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, image: nginx}]}}, {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: default}, spec: {podSelector: {}}}]}}, {reachable: {from: node/node-1, to: pod/a}}, {reachable: {from: node/node-0, to: pod/a, expect: refused, within: 3s}}]`,
		"reachable-missing":   `  steps: [{reachable: {from: deploy/web, to: web, within: 3s}}]`,
		"timeout":             "  timeout: 2m\n  steps: [{expect: {within: 1m, counts: [{target: nodes, equals: 3}]}}, {sleep: 30s}, {name: the step that is too long, wait: {target: pod/a, for: create, within: 2m}}, {kill: {node: node-0}}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+text, Options{})
			if result.Failure == nil {
				t.Error("it passes")
			}
			golden.Compare(t, "testdata/failure-"+name+".golden", tr.String())
		})
	}
}

func TestOptionsOfARun(t *testing.T) {
	t.Parallel()
	text := header + "  steps: [{kill: {node: node-0}}]"
	if result, _ := runScenario(t, text, Options{Clock: "real", Seed: 9}); result.Seed != 9 {
		t.Errorf("the seed is %d, want 9", result.Seed)
	}
	found, err := Parse("scenario.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), found[0], Options{Clock: "sundial"}); err == nil || !strings.Contains(err.Error(), `"sundial" is not a clock`) {
		t.Errorf("got %v", err)
	}
}

// cancelling ends a run when a step begins.
type cancelling struct {
	transcript
	cancel context.CancelFunc
}

func (c *cancelling) StepBegins(string) { c.cancel() }

// Ctrl-C ends a run wherever it is, whatever the clock.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	found, err := Parse("scenario.yaml", []byte(header+"  timeout: 9000h\n  steps: [{wait: {target: pod/a, for: create, within: 8760h}}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"virtual", "real", "scaled=2"} {
		ctx, cancel := context.WithCancel(t.Context())
		progress := &cancelling{cancel: cancel}
		result, err := Run(ctx, found[0], Options{Progress: progress, Clock: mode})
		if err != nil {
			t.Fatal(err)
		}
		if !result.Interrupted || !errors.Is(result.Failure, context.Canceled) || !strings.HasPrefix(result.Text(), "INTERRUPTED test") || len(result.Steps) != 1 {
			t.Errorf("%s: got %s: %v", mode, result.Text(), result.Failure)
		}
		if progress.ended != 1 {
			t.Errorf("%s: End was called %d times", mode, progress.ended)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, found[0], Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("before its start: %v", err)
	}
}

// A wait that is in vain lasts as long as it says, on the cluster's clock.
func TestPatience(t *testing.T) {
	t.Parallel()
	result, _ := runScenario(t, header+`  timeout: 2h
  cluster: {nodes: 0}
  steps: [{wait: {target: pod/a, for: create, within: 1h}}]`, Options{})
	if result.Cluster != time.Hour {
		t.Errorf("%v went by, want 1h", result.Cluster)
	}
}
