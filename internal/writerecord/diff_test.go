package writerecord_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/writerecord"
)

// changesOf returns the changes that a log records for one write, one line per field.
func changesOf(old, obj runtime.Object) string {
	log := writerecord.NewLog(1)
	log.Add(writerecord.Write{Revision: 1}, old, obj)
	var b strings.Builder
	for _, c := range log.Writes(nil)[0].Changes {
		fmt.Fprintf(&b, "%s: %s -> %s\n", c.Path, c.From, c.To)
	}
	return b.String()
}

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", ResourceVersion: "5", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestChanges(t *testing.T) {
	t.Parallel()
	conditions := func(list ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": list}}}
	}
	ready := func(status, reason string) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "reason": reason}
	}
	custom := func(replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "x", "resourceVersion": fmt.Sprint(replicas)},
			"spec":     map[string]any{"replicas": replicas, "list": []any{map[string]any{"name": "a", "value": replicas}}},
		}}
	}
	for name, test := range map[string]struct {
		old, obj runtime.Object
		want     string
	}{
		"created":   {nil, pod(nil), ""},
		"same":      {pod(nil), pod(nil), ""},
		"ignored":   {pod(nil), pod(func(p *corev1.Pod) { p.ResourceVersion, p.Generation = "6", 2 }), ""},
		"scalar":    {pod(nil), pod(func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }), "spec.nodeName:  -> node-1\n"},
		"condition": {pod(nil), pod(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }), "status.conditions[Ready].status: False -> True\n"},
		"items come and go": {
			pod(nil), pod(func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			}), "status.conditions[PodScheduled]:  -> True\nstatus.conditions[Ready]: False -> \n",
		},
		"label":    {pod(nil), pod(func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db", "new": "1"} }), "metadata.labels[app]: web -> db\nmetadata.labels[new]:  -> 1\n"},
		"quantity": {pod(nil), pod(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("0.2") }), "spec.containers[web].resources.requests[cpu]: 100m -> 200m\n"},
		"equal quantity": {pod(nil), pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["cpu"] = *resource.NewScaledQuantity(100, resource.Milli)
		}), ""},
		"pointer to zero": {
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)}},
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}},
			"spec.replicas: 3 -> 0\n",
		},
		"int or string": {
			&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{TargetPort: intstr.FromInt32(80)}}}},
			&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{TargetPort: intstr.FromString("http")}}}},
			"spec.ports[].targetPort: 80 -> http\n",
		},
		"secrets are omitted": {
			&corev1.Secret{Data: map[string][]byte{"password": []byte("old")}},
			&corev1.Secret{Data: map[string][]byte{"password": []byte("hunter2")}},
			"data[password]: 3 bytes -> 7 bytes\n",
		},
		"long":   {pod(nil), pod(func(p *corev1.Pod) { p.Status.Message = strings.Repeat("x", 100) }), "status.message:  -> " + strings.Repeat("x", 59) + "…\n"},
		"custom": {custom(1), custom(2), "spec.list[a].value: 1 -> 2\nspec.replicas: 1 -> 2\n"},
		"condition that is bad": {pod(nil), pod(func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"})
		}), "status.conditions[PodScheduled]:  -> False (Unschedulable)\n"},
		"custom conditions": {
			conditions(map[string]any{"type": "Synced", "status": "True"}), conditions(ready("False", "NoDatabase"), map[string]any{"type": "Synced", "status": "False"}),
			"status.conditions[Ready]:  -> False (NoDatabase)\nstatus.conditions[Synced].status: True -> False\n",
		},
		"custom condition goes": {conditions(ready("True", "Fine")), conditions(), "status.conditions[Ready]: True -> \n"},
		"two items of one name": {conditions(ready("True", ""), ready("False", "")), conditions(ready("True", "")), "status.conditions: 2 items -> 1 item\n"},
		"control characters":    {pod(nil), pod(func(p *corev1.Pod) { p.Status.Message = "a\nb\x1b[31m" }), "status.message:  -> a b [31m\n"},
		"two kinds":             {pod(nil), custom(1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, changesOf(test.old, test.obj)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The size of the changes recorded for a write is bounded.
func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	many := pod(func(p *corev1.Pod) {
		for i := range 100 {
			p.Labels[fmt.Sprint(i)] = "x"
		}
	})
	if got := strings.Count(changesOf(pod(nil), many), "\n"); got != 8 {
		t.Errorf("%d changes are recorded, want 8", got)
	}
}

// BenchmarkChanges uses the most frequent write: a pod becomes ready.
func BenchmarkChanges(b *testing.B) {
	old := pod(nil)
	ready := old.DeepCopy()
	ready.Status.Phase = corev1.PodRunning
	ready.Status.Conditions[0].Status = corev1.ConditionTrue
	log := writerecord.NewLog(1)
	b.ReportAllocs()
	for b.Loop() {
		log.Add(writerecord.Write{Revision: 1}, old, ready)
	}
}
