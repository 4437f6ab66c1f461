package chaosmesh

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// done reports whether an object has been run to its end already.
func done(kind string, object *unstructured.Unstructured) bool {
	if kind == KindWorkflow {
		_, ended, _ := unstructured.NestedString(object.Object, "status", "endTime")
		return ended
	}
	phase, _, _ := unstructured.NestedString(object.Object, "status", "experiment", "desiredPhase")
	action, _, _ := unstructured.NestedString(object.Object, "spec", "action")
	return phase == "Stop" && !holds(object, "Paused") || (kind == KindPodChaos && action != actionPodFailure && holds(object, "AllInjected"))
}

func holds(object *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == condition && fields["status"] == "True"
	})
}

// experiment runs one experiment, whose spec is read from the object.
func (c *Controller) experiment(ctx context.Context, spec experimentSpec, object *unstructured.Unstructured) error {
	if err := specOf(object, spec); err != nil {
		return err
	}
	faults, err := spec.Fault(object.GetNamespace())
	if err != nil {
		return err
	}
	c.event(ctx, object, corev1.EventTypeNormal, "Started", "Experiment has started")
	state := &podChaosStatus{controller: c, object: object}
	env := c.env()
	env.Hit = state.hit
	env.Injected = func() { state.injected(ctx) }
	for _, f := range faults {
		if problems := f.Validate(); len(problems) > 0 {
			return fmt.Errorf("spec: %w", problems[0])
		}
		if err := f.Run(ctx, env); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if !lasting(spec) {
		return nil
	}
	last := context.WithoutCancel(ctx)
	switch context.Cause(ctx) {
	case nil:
		c.event(last, object, corev1.EventTypeNormal, "TimeUp", "Time up according to the duration")
	case errPaused:
		c.event(last, object, corev1.EventTypeNormal, "Paused", "Experiment has been paused")
	case errDeleted:
		c.event(last, object, corev1.EventTypeNormal, "Deleted", "Experiment has been deleted")
	}
	state.recovered(last, context.Cause(ctx) == errPaused)
	return nil
}

// podChaosStatus tracks an experiment and writes its status.
type podChaosStatus struct {
	controller *Controller
	object     *unstructured.Unstructured
	records    []any
	isInjected bool
}

func (s *podChaosStatus) hit(pod *corev1.Pod, container string) {
	id := pod.Namespace + "/" + pod.Name
	if container != "" {
		id += "/" + container
	}
	s.records = append(s.records, map[string]any{
		"id": id, "selectorKey": ".", "phase": "Injected", "injectedCount": int64(1), "recoveredCount": int64(0),
		"events": []any{s.record("Apply")},
	})
}

func (s *podChaosStatus) record(operation string) map[string]any {
	return map[string]any{"operation": operation, "type": "Succeeded", "timestamp": s.controller.now()}
}

func (s *podChaosStatus) injected(ctx context.Context) {
	s.isInjected = true
	for _, r := range s.records {
		s.controller.event(ctx, s.object, corev1.EventTypeNormal, "Applied", fmt.Sprintf("Successfully apply chaos for %v", r.(map[string]any)["id"]))
	}
	s.write(ctx, "Run", true, false, false)
}

// recovered is called when the experiment was taken back, for good or during a pause.
func (s *podChaosStatus) recovered(ctx context.Context, paused bool) {
	for _, r := range s.records {
		fields := r.(map[string]any)
		fields["phase"], fields["recoveredCount"] = "Not Injected", int64(1)
		fields["events"] = append(fields["events"].([]any), s.record("Recover"))
		s.controller.event(ctx, s.object, corev1.EventTypeNormal, "Recovered", fmt.Sprintf("Successfully recover chaos for %v", fields["id"]))
	}
	s.write(ctx, "Stop", false, true, paused)
}

func (s *podChaosStatus) write(ctx context.Context, phase string, injected, recovered, paused bool) {
	s.controller.patch(ctx, s.object, map[string]any{
		"conditions": []any{
			condition("Selected", len(s.records) > 0), condition("AllInjected", injected), condition("AllRecovered", recovered), condition("Paused", paused),
		},
		"experiment": map[string]any{"desiredPhase": phase, "containerRecords": s.records},
	})
}

func condition(kind string, is bool) any {
	status := "False"
	if is {
		status = "True"
	}
	return map[string]any{"type": kind, "status": status, "reason": ""}
}

func specOf(object *unstructured.Unstructured, into any) error {
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(spec, into)
	}
	if err != nil {
		return fmt.Errorf("reading the spec of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func (c *Controller) now() string { return c.cluster.Clock().Now().UTC().Format(time.RFC3339) }
