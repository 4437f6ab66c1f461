package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedClusters runs clusters in the background and stops them by their names.
func TestNamedClusters(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	kubeconfig := filepath.Join(home, ".minikcm", "kubeconfig-a")
	a := launch(t, home, "run", "up", "--name", "a", "-d", "--clock", "virtual", "--ui")
	if code, out := a.end(); code != 0 || out != "export KUBECONFIG="+kubeconfig+"\n" {
		t.Fatalf("up -d ends with %d: %s%s", code, out, a.stderr.String())
	}
	defer func() { launch(t, home, "run", "down", "--all").end() }()
	if !regexp.MustCompile(`^1 node ready at \S+ in \S+ \(seed \d+\)\. Stop it with "minikcm down a"\.\nOpen the live page at `).MatchString(a.stderr.String()) {
		t.Errorf("up -d says %s", a.stderr.String())
	}
	again := launch(t, home, "run", "up", "--name", "a")
	if code, _ := again.end(); code != 1 || !strings.Contains(again.stderr.String(), "a cluster with the name a runs already") {
		t.Errorf("a second one of that name ends with %d: %s", code, again.stderr.String())
	}
	other := launch(t, home, "run", "up", "-d", "--kubeconfig", kubeconfig)
	if code, _ := other.end(); code != 2 || !strings.Contains(other.stderr.String(), kubeconfig+" is the kubeconfig of the running cluster a: stop that with \"minikcm down a\", or choose another path") {
		t.Errorf("another cluster with the kubeconfig of a ends with %d: %s", code, other.stderr.String())
	}
	config := filepath.Join(home, "b.yaml")
	if err := os.WriteFile(config, []byte("apiVersion: minikcm.dev/v1alpha1\nkind: Cluster\nmetadata: {name: b}\nspec: {detach: true, nodes: 2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := launch(t, home, "run", "up", "--config", config)
	if code, out := b.end(); code != 0 || out != "export KUBECONFIG="+filepath.Join(home, ".minikcm", "kubeconfig-b")+"\n" {
		t.Fatalf("up --config ends with %d: %s%s", code, out, b.stderr.String())
	}
	list := launch(t, home, "run", "list")
	if code, out := list.end(); code != 0 || !regexp.MustCompile(`(?s)^NAME +CLOCK +NODES .*\na +virtual=1 +1/1 .* http://127\.0\.0\.1:\d+ .*\nb +real +2/2 .* - `).MatchString(out) {
		t.Errorf("list ends with %d: %s%s", code, out, list.stderr.String())
	}
	list = launch(t, home, "run", "list", "-o", "json")
	var listed []listedCluster
	if code, out := list.end(); code != 0 || json.Unmarshal([]byte(out), &listed) != nil || len(listed) != 2 || listed[0].Clock != "virtual=1" || listed[1].Nodes == nil || listed[1].Nodes.Ready != 2 || listed[1].Nodes.Total != 2 {
		t.Errorf("list -o json ends with %d: %s%s", code, out, list.stderr.String())
	}
	status := launch(t, home, "run", "status", "--kubeconfig", "b", "-o", "json")
	var found clusterStatus
	if code, out := status.end(); code != 0 || json.Unmarshal([]byte(out), &found) != nil || found.Name != "b" || found.Nodes.Ready != 2 {
		t.Errorf("status of b ends with %d: %s%s", code, out, status.stderr.String())
	}
	pause := launch(t, home, "run", "clock", "pause", "--kubeconfig", "b")
	if code, _ := pause.end(); code != 1 || !strings.Contains(pause.stderr.String(), "The cluster a has a virtual clock: name it with --kubeconfig a.") {
		t.Errorf("pausing a real clock ends with %d: %s", code, pause.stderr.String())
	}
	paused := launch(t, home, "run", "clock", "pause", "--kubeconfig", "a")
	if code, out := paused.end(); code != 0 || !strings.HasPrefix(out, "virtual=1 (paused)") || paused.stderr.String() != "" { // the flag names the cluster
		t.Errorf("pausing a virtual clock ends with %d: %s%s", code, out, paused.stderr.String())
	}
	both := launch(t, home, "run", "down")
	if code, _ := both.end(); code != 2 || !strings.Contains(both.stderr.String(), "2 clusters are running: name those to stop (a, b), or give --all") {
		t.Errorf("down ends with %d: %s", code, both.stderr.String())
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"down", "c"}, 2, "no running cluster has the name c: there are a, b"},
		{[]string{"down", "a"}, 0, "Stopped a.\n"},
		{[]string{"down"}, 0, "Stopped b.\n"},
		{[]string{"down"}, 0, "No cluster is running.\n"},
	} {
		p := launch(t, home, "run", test.args...)
		if code, out := p.end(); code != test.code || !strings.Contains(out+p.stderr.String(), test.says) {
			t.Errorf("%v ends with %d: %s%s", test.args, code, out, p.stderr.String())
		}
	}
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig of a is left: %v", err)
	}
}

// TestNoOwnFolder runs a cluster in the background for a user who cannot have a folder: the log is beside the
// kubeconfig, and the cluster is in no list.
func TestNoOwnFolder(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	home := file(t, "not-a-folder", "")
	up := launch(t, home, "run", "up", "-d", "--nodes", "0", "--kubeconfig", kubeconfig)
	code, out := up.end()
	if code != 0 || out != "export KUBECONFIG="+kubeconfig+"\n" {
		t.Fatalf("up -d ends with %d: %s%s", code, out, up.stderr.String())
	}
	if !regexp.MustCompile(`Stop it with a signal to its process, \d+\.\n"minikcm list" and "minikcm down" will not find it: registering the cluster: mkdir `).MatchString(up.stderr.String()) {
		t.Errorf("up -d says %s", up.stderr.String())
	}
	if _, err := os.Stat(kubeconfig + ".log"); err != nil {
		t.Error(err)
	}
	stop := launch(t, t.TempDir(), "run", "kubectl", "--kubeconfig", kubeconfig, "create", "--raw", "/minikcm/v1/stop", "-f", file(t, "empty", "{}"))
	if code, out := stop.end(); code != 0 {
		t.Errorf("stopping it ends with %d: %s%s", code, out, stop.stderr.String())
	}
}

// TestDetachedFailure starts a cluster in the background that cannot start: the command passes on its
// output and its exit code.
func TestDetachedFailure(t *testing.T) {
	t.Parallel()
	p := launch(t, t.TempDir(), "run", "up", "-d", "--etcd-servers", "http://127.0.0.1:1", "--controllers", "nonsense")
	if code, out := p.end(); code != 2 || out != "" || !strings.Contains(p.stderr.String(), `"nonsense" is not a controller`) {
		t.Errorf("it ends with %d: %s%s", code, out, p.stderr.String())
	}
}

// TestBrokenKubeconfig checks that a KUBECONFIG that cannot be used is not passed over, even if a cluster
// of "minikcm up" runs.
func TestBrokenKubeconfig(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home)
	broken := file(t, "broken", "clusters: {")
	for env, want := range map[string]string{broken: "cannot be used: reading " + broken, broken + "-not": "does not exist"} {
		for _, args := range [][]string{{"status"}, {"clock"}, {"why", "node/node-0"}, {"kubectl", "get", "nodes"}} {
			p := launchWith(t, []string{"KUBECONFIG=" + env}, home, "run", args...)
			if code, out := p.end(); code != 2 || out != "" || !strings.Contains(p.stderr.String(), "KUBECONFIG="+env+" "+want) {
				t.Errorf("%v with KUBECONFIG=%s ends with %d: %s%s", args, env, code, out, p.stderr.String())
			}
		}
	}
	up.stop()
}
