package remedy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// labels select the pods of the workloads in tests.
var labels = map[string]string{"app": "web", "tier": "front"}

// The smallest remedies are tried first, and none that the workload has already.
func TestRemedies(t *testing.T) {
	for name, test := range map[string]struct {
		w     Workload
		lacks string
		want  []string
	}{
		"a single replica": {
			Workload{Replicas: 1, Nodes: 1, Grace: 30, Selector: labels},
			"single replica, no preStop hook, no PodDisruptionBudget",
			[]string{
				"two replicas on different nodes", "two replicas on different nodes and a PodDisruptionBudget",
				"two replicas on different nodes and a preStop hook that sleeps 5 s", "two replicas on different nodes, a preStop hook that sleeps 5 s and a PodDisruptionBudget",
				"two replicas on different nodes and a preStop hook that sleeps 15 s", "two replicas on different nodes, a preStop hook that sleeps 15 s and a PodDisruptionBudget",
			},
		},
		"a single replica with a hook": {
			Workload{Replicas: 1, Nodes: 1, Grace: 30, Hooked: true, Selector: labels},
			"single replica, no PodDisruptionBudget",
			[]string{"two replicas on different nodes", "two replicas on different nodes and a PodDisruptionBudget"},
		},
		"three without a hook": {
			Workload{Replicas: 3, Nodes: 3, Grace: 30, Selector: labels, Budgeted: true},
			"no preStop hook",
			[]string{"a preStop hook that sleeps 5 s", "a preStop hook that sleeps 15 s"},
		},
		"three on one node": {
			Workload{Replicas: 3, Nodes: 1, Grace: 30, Sleep: 20, Selector: labels, Budgeted: true},
			"all pods on one node",
			[]string{"pods on different nodes"},
		},
		"three without a budget": {
			Workload{Replicas: 3, Nodes: 3, Grace: 30, Sleep: 5, Selector: labels},
			"no PodDisruptionBudget",
			[]string{"a PodDisruptionBudget", "a preStop hook that sleeps 15 s", "a preStop hook that sleeps 15 s and a PodDisruptionBudget"},
		},
		"a short grace period":                {Workload{Replicas: 3, Nodes: 3, Grace: 10, Budgeted: true}, "no preStop hook", []string{"a preStop hook that sleeps 5 s"}},
		"no time at all":                      {Workload{Replicas: 3, Nodes: 3, Grace: 2, Budgeted: true}, "no preStop hook", nil},
		"nothing lacks":                       {Workload{Replicas: 3, Nodes: 2, Grace: 30, Sleep: 15, Budgeted: true}, "", nil},
		"a budget needs a selector of labels": {Workload{Replicas: 3, Nodes: 2, Grace: 30, Sleep: 15}, "no PodDisruptionBudget", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range test.w.Remedies() {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("remedies (-want +got):\n%s", diff)
			}
			if lacks := strings.Join(test.w.Lacks(), ", "); lacks != test.lacks {
				t.Errorf("it lacks %q, want %q", lacks, test.lacks)
			}
		})
	}
}

// The commands of a remedy change what it says, and nothing else.
func TestCommands(t *testing.T) {
	w := &Workload{Kind: Deployment, Namespace: "shop", Name: "web", Servers: []string{"nginx", "tls"}, Selector: labels, Autoscaler: "web-scaler"}
	spread := `"topologySpreadConstraints":[{"labelSelector":{"matchLabels":{"app":"web","tier":"front"}},"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway"}]`
	hooks := `"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"name":"nginx"},{"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"name":"tls"}]`
	for _, test := range []struct {
		r    Remedy
		want []string
	}{
		{Remedy{}, nil},
		{Remedy{Replicas: true}, []string{
			`kubectl patch hpa web-scaler -n shop -p '{"spec":{"minReplicas":2}}'`,
			`kubectl patch deployment web -n shop -p '{"spec":{"replicas":2,"template":{"spec":{` + spread + `}}}}'`,
		}},
		{Remedy{Spread: true, Sleep: 5}, []string{`kubectl patch deployment web -n shop -p '{"spec":{"template":{"spec":{` + hooks + `,` + spread + `}}}}'`}},
		{Remedy{Budget: true}, []string{"kubectl create poddisruptionbudget web -n shop --selector=app=web,tier=front --max-unavailable=1"}},
	} {
		if diff := cmp.Diff(test.want, test.r.Commands(w)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.r, diff)
		}
	}
}
