package chaosmesh

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// The API server refuses what Chaos Mesh's webhooks refuse, and kinds that are not run wherever they are
// named.
func TestRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const template = "kind: Workflow\nspec:\n  entry: a\n  templates:\n  - "
	for text, want := range map[string]string{
		"kind: Schedule\nspec: {schedule: '@hourly', type: StressChaos, stressChaos: {mode: one}}":                                             "StressChaos is not run here: ",
		template + "{name: a, templateType: StressChaos, stressChaos: {mode: one}}":                                                            "StressChaos is not run here: ",
		template + "{name: a, templateType: Task, task: {container: {name: c, image: busybox}}}":                                               "Task is not run here: ",
		template + "{name: a, templateType: Schedule, schedule: {schedule: '@hourly', type: IOChaos}}":                                         "IOChaos is not run here: ",
		template + "{name: a, templateType: Dance}":                                                                                            "unrecognized template type: Dance",
		template + "{name: b, templateType: Suspend, deadline: 1s}":                                                                            "can not find a template with name a",
		"kind: Workflow\nspec: {entry: a, templates: []}":                                                                                      "templates in workflow could not be empty",
		"kind: PodChaos\nspec: {action: container-kill, mode: one, selector: {}}":                                                              "the name of container is empty on container-kill action: invalid value",
		template + "{name: a, templateType: PodChaos, podChaos: {action: container-kill, mode: one}}":                                          "the name of container is empty",
		"kind: Schedule\nspec: {schedule: '@hourly', type: PodChaos, podChaos: {action: container-kill}}":                                      "the name of container is empty",
		"kind: Schedule\nspec: {schedule: '@hourly', type: Workflow, workflow: {entry: a, templates: [{name: a, templateType: StressChaos}]}}": "StressChaos is not run here: ",
		template + "{name: a, templateType: Suspend, deadline: 1s}":                                                                            "",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(head+text), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetName("a")
		_, err := b.dynamic.Resource(resourceOf(object.GetKind())).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{})
		if want == "" && err != nil || want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant %q", text, err, want)
		}
	}
}

// The spec of an experiment cannot be changed, its metadata can, and a Schedule goes on with its changed
// spec.
func TestUpdates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	patch := func(kind, name, patch string) error {
		_, err := b.dynamic.Resource(resourceOf(kind)).Namespace("default").Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	b.apply(head + "kind: PodChaos\nmetadata: {name: fail}\nspec: {action: pod-failure, mode: one, duration: 1h, selector: {labelSelectors: {app: web}}}")
	b.advance(time.Second)
	if err := patch(KindPodChaos, "fail", `{"spec":{"mode":"all"}}`); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "Cannot update chaos spec") {
		t.Errorf("a changed spec: %v", err)
	}
	if err := patch(KindPodChaos, "fail", `{"metadata":{"annotations":{"experiment.chaos-mesh.org/pause":"true"}}}`); err != nil {
		t.Errorf("a changed annotation: %v", err)
	}
	b.apply(head + `kind: Schedule
metadata: {name: often}
spec: {schedule: '@every 1h', historyLimit: 9, type: PodChaos, podChaos: {action: pod-kill, mode: one, selector: {labelSelectors: {app: web}}}}`)
	b.advance(time.Minute)
	if err := patch(KindSchedule, "often", `{"spec":{"schedule":"@every 10m"}}`); err != nil {
		t.Fatal(err)
	}
	b.advance(35 * time.Minute)
	if made := len(b.list(KindPodChaos, "")) - 1; made != 3 {
		t.Errorf("%d experiments were made within 35 minutes", made)
	}
}
