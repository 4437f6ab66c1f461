package scenarios

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

const chaosSetup = header + `  steps:
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 3
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: web, image: nginx}]}
    - wait: {target: deployment/web, for: rollout}
`

const podChaos = `
apiVersion: chaos-mesh.org/v1alpha1
kind: PodChaos
metadata: {name: kill, namespace: default}
spec:
  action: pod-kill
  mode: all
  selector: {labelSelectors: {app: web}}
`

const killed = `    - expect:
        within: 1m
        given: {chaos: {target: podchaos/kill}, events: {target: events}, pods: {target: pods, selector: app=web}}
        cel:
          - chaos.status.experiment.containerRecords.size() == 3
          - events.exists(e, e.reason == "Applied")
          - pods.size() == 3 && pods.all(p, p.status.phase == "Running")
`

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		out.WriteString("            " + line)
	}
	out.WriteString("\n")
	return out.String()
}

// Chaos Mesh's manifests are run as they are, beside the scenario and by its steps.
func TestChaosMeshManifests(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"beside": chaosSetup + killed + "---" + podChaos,
		"inline": chaosSetup + "    - apply:\n        objects:\n          - " + strings.TrimLeft(indent(podChaos), " ") + killed,
		"schedule": chaosSetup + `    - expect:
        within: 5m
        given: {schedule: {target: schedules.chaos-mesh.org/often}, chaos: {target: podchaos}}
        cel: ["schedule.status.time == '2026-01-05T00:03:00Z'", "chaos.size() == 1"]
---
apiVersion: chaos-mesh.org/v1alpha1
kind: Schedule
metadata: {name: often, namespace: default}
spec:
  schedule: "* * * * *"
  type: PodChaos
  historyLimit: 1
  podChaos: {action: pod-kill, mode: one, selector: {labelSelectors: {app: web}}}
`,
		"workflow": chaosSetup + `    - wait: {target: workflow/flow, for: condition=Accomplished, within: 5m}
    - expect: {within: 1m, counts: [{target: pods, selector: app=web, where: {status: {conditions: [{type: Ready, status: "True"}]}}, equals: 3}]}
---
apiVersion: chaos-mesh.org/v1alpha1
kind: Workflow
metadata: {name: flow, namespace: default}
spec:
  entry: all
  templates:
    - {name: all, templateType: Serial, children: [pause, fail]}
    - {name: pause, templateType: Suspend, deadline: 30s}
    - name: fail
      templateType: PodChaos
      deadline: 1m
      podChaos: {action: pod-failure, mode: one, selector: {labelSelectors: {app: web}}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, text, Options{})
			if result.Failure != nil {
				t.Errorf("it fails\n%s", tr)
			}
			again, second := runScenario(t, text, Options{})
			if again.Failure != nil || tr.String() != second.String() {
				t.Errorf("it goes another way the second time:\n%s\n%s", tr, second)
			}
		})
	}
}

// What cannot be run is refused with its line, before anything is started.
func TestImpossible(t *testing.T) {
	t.Parallel()
	expect := "    - sleep: 1s\n"
	for name, test := range map[string]struct {
		text     string
		existing bool
		want     string
	}{
		"an action":       {text: chaosSetup + expect + "---" + strings.Replace(podChaos, "pod-kill", "pod-dance", 1), want: `scenario.yaml:21: podchaos/kill: spec.action "pod-dance" is none of pod-kill, pod-failure, container-kill`},
		"a kind":          {text: chaosSetup + expect + "---" + strings.Replace(podChaos, "PodChaos", "StressChaos", 1), want: "scenario.yaml:21: stresschaos/kill: StressChaos is not run here: simulated containers use what the annotations minikcm.dev/cpu and minikcm.dev/memory say"},
		"a kind there":    {text: chaosSetup + expect + "---" + strings.Replace(podChaos, "PodChaos", "StressChaos", 1), existing: true},
		"etcd":            {text: header + "  steps:\n    - fault: {etcd: {action: noSpace}, for: 1m}\n    - kill: {node: node-0}\n", existing: true, want: "scenario.yaml:7: fault: fill etcd cannot be done to an existing cluster: it can be reached only by its API, so that pods can be killed and evicted, and nodes cordoned, drained, tainted and deleted; run the scenario on a cluster of its own for the rest\nscenario.yaml:8: kill.node: the nodes of a cluster that is not ours cannot be stopped"},
		"etcd of its own": {text: header + "  steps:\n    - fault: {etcd: {action: noSpace}, for: 1m}\n"},
		"a drain":         {text: header + "  steps:\n    - fault: {nodes: {action: drain, names: [a]}}\n", existing: true},
	} {
		found, err := Parse("scenario.yaml", []byte(test.text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		place := OwnCluster
		if test.existing {
			place = ForeignCluster
		}
		if err := Possible(found[0], place); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s\nwant %s", name, got, test.want)
		}
		if test.want == "" {
			continue
		}
		var options Options
		if test.existing {
			options.Config = &rest.Config{Host: "http://127.0.0.1:1"}
		}
		var problems spec.Problems
		if _, err := Run(t.Context(), found[0], options); !errors.As(err, &problems) {
			t.Errorf("%s: Run says %v", name, err)
		}
	}
	for text, want := range map[string]string{
		podChaos:                      "scenario.yaml:2: a manifest needs a scenario that sets up what it is for: write one beside it in the file, or name the file in an apply step",
		chaosSetup + "---" + podChaos: "scenario.yaml:20: is applied after the steps of test that apply, create and wait, and there is none after them: say what to expect, or sleep",
		chaosSetup + expect + "---\napiVersion: chaos-mesh.org/v1alpha1\nkind: PodChaos\n": "scenario.yaml:21: PodChaos needs metadata.name",
	} {
		if _, err := Parse("scenario.yaml", []byte(text), nil); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
