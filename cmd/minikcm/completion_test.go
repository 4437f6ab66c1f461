package main

import (
	"slices"
	"strings"
	"testing"
)

// completions returns what the shell is offered after the words.
func completions(t *testing.T, home string, words ...string) []string {
	t.Helper()
	p := launch(t, home, "run", append([]string{"__complete"}, words...)...)
	code, out := p.end()
	if code != 0 {
		t.Errorf("completing %q ends with %d: %s", words, code, p.stderr.String())
	}
	var offered []string
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !strings.HasPrefix(name, ":") {
			offered = append(offered, name)
		}
	}
	return offered
}

// TestCompletion completes the names of what is built in, and of what a cluster has.
func TestCompletion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home, "--nodes", "2", "--name", "shop")
	fault := launch(t, home, "run", "fault", "node", "hang", "node-1")
	if code, out := fault.end(); code != 0 {
		t.Fatalf("the fault ends with %d: %s%s", code, out, fault.stderr.String())
	}
	for _, line := range []string{"label node node-0 topology.kubernetes.io/zone=eu-1a", "create service clusterip web --tcp=80", "create deployment api --image=api"} {
		p := launch(t, home, "run", append([]string{"kubectl"}, strings.Fields(line)...)...)
		if code, out := p.end(); code != 0 {
			t.Fatalf("kubectl %s ends with %d: %s%s", line, code, out, p.stderr.String())
		}
	}
	for line, want := range map[string][]string{
		"scenario run ":                     {"pod-kill", "node-loss"},
		"scenario show ":                    {"pod-kill"},
		"demo ":                             {"rollout", "node-dies"},
		"example ":                          {"podinformer"},
		"fault ":                            {"node", "apiserver"},
		"fault node ":                       {"crash", "hang"},
		"fault node crash ":                 {"node-0", "node-1"},
		"fault node crash node-0 ":          {"node-1"},
		"fault controller pause ":           {"deployment-controller"},
		"fault stop ":                       {"f-1"},
		"node remove ":                      {"node-0", "node-1"},
		"whatif ":                           {"drain", "remove", "crash", "upgrade", "consolidate", "add", "apply", "load", "scale"},
		"whatif crash ":                     {"node-0", "node-1"},
		"up --emulated-version ":            {"1.37", "1.30"},
		"up --controllers ":                 {"*", "job-controller"},
		"up --controllers *,-":              {"*,-job-controller"},
		"envtest use ":                      {"1.33"},
		"kubectl --kubeconfig shop get no ": {"node-0", "node-1"},
		"whatif drain ":                     {"node-0", "node-1", "zone", "pool"},
		"whatif drain zone ":                {"eu-1a"},
		"whatif crash pool ":                {"node"},
		"whatif upgrade ":                   {"node", "zone", "pool"},
		"whatif upgrade pool ":              {"node"},
		"whatif upgrade node ":              {"surge"},
		"whatif add 1 ":                     {"like"},
		"whatif add 1 like ":                {"node-0"},
		"whatif load ":                      {"web", "kubernetes", "deployment/api"},
		"whatif load web ":                  {"x2"},
		"whatif scale ":                     {"deployment/", "statefulset/"},
		"fit ":                              {"deployment/", "replicaset/", "replicationcontroller/", "statefulset/"},
		"fit deployment/":                   {"deployment/api"},
		"why ":                              {"node/", "pod/", "deployment/"},
		"why node/":                         {"node/node-0", "node/node-1"},
		"down ":                             {"shop"},
		"status --kubeconfig ":              {"shop"},
		"why --namespace ":                  {"default", "kube-system"},
		"up --clock ":                       {"real", "virtual"},
		"controllers ":                      {"job-controller"},
		"kubectl get node ":                 {"node-0", "node-1"},
		"kubectl --kubeconfig K --context ": {"minikcm"},
	} {
		words := strings.Split(strings.ReplaceAll(line, "K", kubeconfig), " ")
		got := completions(t, home, words...)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("after %q there is no %s among %q", line, name, got)
			}
		}
	}
	// The only cluster needs no name.
	nodes := launch(t, home, "run", "kubectl", "get", "nodes", "-o", "name")
	if code, out := nodes.end(); code != 0 || out != "node/node-0\nnode/node-1\n" || !strings.HasPrefix(nodes.stderr.String(), "minikcm: using the cluster shop (") {
		t.Errorf("kubectl ends with %d: %s%s", code, out, nodes.stderr.String())
	}
	for _, line := range []string{"status ", "up ", "ui ", "reset ", "list "} {
		if got := completions(t, home, strings.Split(line, " ")...); len(got) > 0 {
			t.Errorf("after %q, which takes no arguments, there are %q", line, got)
		}
	}
	for line, other := range map[string]string{"fit ": "clusterrole/", "whatif scale ": "apiservice/", "whatif drain zone ": "node-0", "whatif upgrade pool ": "node-0"} {
		if got := completions(t, home, strings.Split(line, " ")...); slices.Contains(got, other) {
			t.Errorf("after %q there is %s among %q", line, other, got)
		}
	}
	if got := completions(t, home, "fault", "node", "crash", "node-0", ""); slices.Contains(got, "node-0") {
		t.Errorf("a node that is named is offered again: %q", got)
	}
	up.stop()
}
