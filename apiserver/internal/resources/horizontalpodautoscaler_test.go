package resources

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"
)

const everyMetric = `
metadata: {name: web, annotations: {mine: kept}}
spec:
  maxReplicas: 9
  minReplicas: 2
  scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}
  behavior: {scaleUp: {selectPolicy: Min, stabilizationWindowSeconds: 3, policies: [{type: Pods, value: 1, periodSeconds: 5}]}, scaleDown: {selectPolicy: Disabled, policies: [{type: Percent, value: 1, periodSeconds: 5}]}}
  metrics:
  - {type: Object, object: {describedObject: {kind: Ingress, name: i}, metric: {name: hits, selector: {matchLabels: {a: b}}}, target: {type: Value, value: 10k}}}
  - {type: Pods, pods: {metric: {name: queue}, target: {type: AverageValue, averageValue: "30"}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: app, target: {type: Utilization, averageUtilization: 50}}}
  - {type: External, external: {metric: {name: messages}, target: {type: AverageValue, averageValue: "30"}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}
status:
  currentReplicas: 3
  desiredReplicas: 4
  conditions: [{type: AbleToScale, status: "True", reason: ReadyForNewScale, message: m, lastTransitionTime: "2030-01-01T12:00:00Z"}]
  currentMetrics:
  - {type: External, external: {metric: {name: messages}, current: {value: "9", averageValue: "3"}}}
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 12, averageValue: "0"}}}
`

// TestAutoscalerConversion converts a stored autoscaler to autoscaling/v1 and back: no
// field that the older version lacks may be lost.
func TestAutoscalerConversion(t *testing.T) {
	stored := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := yaml.UnmarshalStrict([]byte(everyMetric), stored); err != nil {
		t.Fatal(err)
	}
	conversion := rowOf(t, "autoscaling", "v1", "HorizontalPodAutoscaler").Storage
	before := stored.DeepCopy()
	shown := conversion.From(stored).(*autoscalingv1.HorizontalPodAutoscaler)
	if diff := cmp.Diff(before, stored); diff != "" {
		t.Fatalf("the stored object was changed:\n%s", diff)
	}
	annotations := []string{behaviorAnnotation, conditionsAnnotation, statusesAnnotation, metricsAnnotation, "mine"}
	if diff := cmp.Diff(annotations, slices.Sorted(maps.Keys(shown.Annotations))); diff != "" {
		t.Error(diff)
	}
	const behavior = `{"ScaleUp":{"StabilizationWindowSeconds":3,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":5}],"Tolerance":null},` +
		`"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Disabled","Policies":[{"Type":"Percent","Value":1,"PeriodSeconds":5}],"Tolerance":null}}`
	if diff := cmp.Diff(behavior, shown.Annotations[behaviorAnnotation]); diff != "" {
		t.Error(diff)
	}
	if got := *shown.Spec.TargetCPUUtilizationPercentage; got != 70 {
		t.Errorf("aims at %d%%", got)
	}
	// The average beside a utilization cannot be represented in autoscaling/v1.
	before.Status.CurrentMetrics[1].Resource.Current.AverageValue = nil
	if diff := cmp.Diff(before, conversion.To(shown)); diff != "" {
		t.Errorf("(-stored +converted back):\n%s", diff)
	}
}

// TestAutoscalerAnnotations checks that a client of autoscaling/v1 cannot change the
// status through the annotations that represent it.
func TestAutoscalerAnnotations(t *testing.T) {
	strategy := rowOf(t, "autoscaling", "v1", "HorizontalPodAutoscaler").Strategy
	with := func(metrics, conditions string) *autoscalingv1.HorizontalPodAutoscaler {
		a := &autoscalingv1.HorizontalPodAutoscaler{}
		a.Annotations = map[string]string{metricsAnnotation: metrics, conditionsAnnotation: conditions}
		return a
	}
	created := with("m", "c")
	strategy.PrepareCreate(created)
	if diff := cmp.Diff(map[string]string{metricsAnnotation: "m"}, created.Annotations); diff != "" {
		t.Errorf("create: %s", diff)
	}
	updated := with("new", "new")
	strategy.PrepareUpdate(updated, with("old", "old"))
	if diff := cmp.Diff(with("new", "old"), updated); diff != "" {
		t.Errorf("update: %s", diff)
	}
	status := with("new", "new")
	strategy.PrepareStatusUpdate(status, with("old", "old"))
	if diff := cmp.Diff(with("old", "new"), status); diff != "" {
		t.Errorf("status: %s", diff)
	}
}
