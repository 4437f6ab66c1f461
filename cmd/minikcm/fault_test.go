package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/fault"
)

// changing matches the output that differs from run to run.
var changing = regexp.MustCompile(`"time": "[^"]*"|"(since|until|now)": "[^"]*"|https://127\.0\.0\.1:\d+`)

// faults runs fault commands against a cluster and returns their output.
func faults(t *testing.T, home string, commands ...string) string {
	t.Helper()
	var out strings.Builder
	for _, command := range commands {
		p := launch(t, home, "run", append([]string{"fault"}, strings.Fields(command)...)...)
		code, stdout := p.end()
		fmt.Fprintf(&out, "$ minikcm fault %s\n%s%s", command, stdout, p.stderr.String())
		if code != 0 {
			fmt.Fprintf(&out, "exit code %d\n", code)
		}
	}
	return changing.ReplaceAllString(out.String(), "...")
}

// Faults are injected into the cluster that up runs, listed and stopped.
func TestFault(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "faults.yaml")
	text := "nodes: {action: taint, names: [node-0], taint: 'a=b:NoSchedule'}\n---\npods: {action: kill}\nschedule: '0 0 1 1 *'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, _ := launchUp(t, home, "--nodes", "2")
	got := faults(t, home,
		"list",
		"node crash node-1",
		"apiserver error --code 503 --percent 50 --users nobody --for 1000h",
		"etcd slow --prefix /registry/nothing --delay 10ms --for 1000h -o json",
		"controller pause deployment-controller replicaset-controller --for 1000h",
		"apply -f "+file,
		"node crash node-9",
		"clock jump --by 1h",
		"stop f-2 f-77",
		"node cordon --all --for 10ms --wait",
		"stop --all",
		"stop --all",
		"list",
	)
	got = strings.ReplaceAll(got, home, "HOME")
	golden.Compare(t, "testdata/fault.golden", got)
	cluster.stop()
	if got := faults(t, home, "list"); !strings.Contains(got, "exit code 1") {
		t.Errorf("without a cluster: %s", got)
	}
}

// The list shows active faults, and with --all also those that are over.
func TestFaultList(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cluster, _ := launchUp(t, home)
	faults(t, home, "node hang --for 1000h", "apiserver dropWatches --users nobody")
	for command, want := range map[string]string{
		"list":         `^ID +STATE +AGE +LEFT +TIMES +FAULT +LAST\nf-1 +Active +\d+s +41d +1 +hang 1 of the nodes for 1000h0m0s +node/node-0 hangs\n$`,
		"list --all":   `\nf-2 +Over +\d+s +- +1 +end the watches +0 watches were ended\n$`,
		"list -o yaml": `(?s)^items:\n- fault:.*\nnow: `,
	} {
		got := strings.TrimPrefix(faults(t, home, command), "$ minikcm fault "+command+"\n")
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s prints\n%s", command, got)
		}
	}
	cluster.stop()
}

// Ctrl-C stops the fault that a command with --wait injected.
func TestFaultWaits(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cluster, kubeconfig := launchUp(t, home)
	p := launch(t, home, "run", "fault", "node", "cordon", "node-0", "--wait")
	for _, want := range []string{"f-1: cordon nodes node-0", "f-1: node/node-0 cordoned"} {
		if got := p.line(); got != want {
			t.Errorf("it prints %q, want %q", got, want)
		}
	}
	p.signal(os.Interrupt)
	code, rest := p.end()
	if want := "f-1: node/node-0 uncordoned\nf-1: over: cordon nodes node-0\nf-1: stopped on request\n"; code != interrupted || rest != want {
		t.Errorf("it ends with %d: %s%s", code, rest, p.stderr.String())
	}
	if nodes := nodesIn(t, kubeconfig); nodes != 1 {
		t.Errorf("there are %d nodes", nodes)
	}
	cluster.stop()
}

// The cluster of "exec" serves the fault API, too.
func TestFaultInExec(t *testing.T) {
	t.Parallel()
	p := launch(t, t.TempDir(), "run", "exec", "--", self(t), "fault", "node", "hang")
	if code, out := p.end(); code != 0 || out != "f-1: hang 1 of the nodes\n  node/node-0 hangs\n" {
		t.Errorf("it ends with %d: %s%s", code, out, p.stderr.String())
	}
}

// Every field of a fault has a flag, and every flag has a usage text.
func TestFaultFlags(t *testing.T) {
	cmd := newFault()
	for _, part := range fault.Parts() {
		sub, _, err := cmd.Find([]string{part.One})
		if err != nil {
			t.Fatal(err)
		}
		check := func(definition string, fields []fault.Field) {
			for _, field := range fields {
				flag := sub.Flags().Lookup(flagName(field.Name))
				if flag == nil && field.Name != namesField {
					t.Errorf("%s has no flag for %s", sub.CommandPath(), field.Name)
				}
				if flag != nil && (flag.Usage == "" || scenarios.Describe(definition, field.Name) == "") {
					t.Errorf("%s does not say what --%s is", sub.CommandPath(), flag.Name)
				}
			}
		}
		check(part.Definition(), part.AllFields())
		check("Fault", fault.TimeFields())
		if sub.Example == "" {
			t.Errorf("%s has no example", sub.CommandPath())
		}
	}
}
