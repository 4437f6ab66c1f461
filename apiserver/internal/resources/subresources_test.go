package resources

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestBinding(t *testing.T) {
	binding := func(change func(*corev1.Binding)) *corev1.Binding {
		b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-0"}}
		if change != nil {
			change(b)
		}
		return b
	}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
		if change != nil {
			change(p)
		}
		return p
	}
	sub := rowOf(t, "", "v1", "Pod").Subresource("binding")
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		binding *corev1.Binding
		want    string
	}{
		{"free", pod(nil), binding(nil), ""},
		{"bound", pod(func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }), binding(nil), `pod a is already assigned to node "node-1"`},
		{"other pod", pod(nil), binding(func(b *corev1.Binding) { b.UID = "2" }), "Precondition failed: UID in precondition: 2, UID in object meta: 1"},
		{"going", pod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }), binding(nil), "pod a is being deleted, cannot be assigned to a host"},
		{"gated", pod(func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }), binding(nil), "pod a has non-empty .spec.schedulingGates"},
		{"no node", pod(nil), binding(func(b *corev1.Binding) { b.Target = corev1.ObjectReference{Kind: "Shelf"} }), `target.kind: Unsupported value: "Shelf"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := sub.WriteInto(test.pod, test.binding, noon)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %s", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
			if diff := cmp.Diff(want, test.pod.Status.Conditions); diff != "" || test.pod.Spec.NodeName != "node-0" {
				t.Errorf("on %q:\n%s", test.pod.Spec.NodeName, diff)
			}
		})
	}
}

// TestBindingReplaces binds a shallow copy of a pod: the pod itself stays as it is.
func TestBindingReplaces(t *testing.T) {
	sub := rowOf(t, "", "v1", "Pod").Subresource("binding")
	if !sub.Replaces {
		t.Fatal("a binding does not replace what it changes")
	}
	stored := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "1"}},
		Status:     corev1.PodStatus{Conditions: append(make([]corev1.PodCondition, 0, 4), corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse})},
	}
	before := stored.DeepCopy()
	bound := *stored
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "x"}, Annotations: map[string]string{"a": "2"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node-0"},
	}
	if err := sub.WriteInto(&bound, binding, noon); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, stored); diff != "" {
		t.Errorf("the stored pod changed:\n%s", diff)
	}
	if bound.Annotations["a"] != "2" || bound.Labels["zone"] != "x" || bound.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("bound: %v", bound)
	}
}

func TestScale(t *testing.T) {
	sub := rowOf(t, "apps", "v1", "Deployment").Subresource("scale")
	replicas := int32(3)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "1", ResourceVersion: "9"}}
	d.Spec.Replicas, d.Status.Replicas = &replicas, 2
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	got, err := sub.Get(d)
	if err != nil {
		t.Fatal(err)
	}
	want := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "1", ResourceVersion: "9"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
		Status:     autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := sub.WriteInto(d, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: -1}}, noon); !apierrors.IsInvalid(err) {
		t.Errorf("negative: %v", err)
	}
	if err := sub.WriteInto(d, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}, noon); err != nil || *d.Spec.Replicas != 7 {
		t.Errorf("%v: %d replicas", err, *d.Spec.Replicas)
	}
}

func TestEviction(t *testing.T) {
	sub := rowOf(t, "", "v1", "Pod").Subresource("eviction")
	if got := sub.Delete(&policyv1.Eviction{}); got != nil {
		t.Errorf("got %v", got)
	}
	opts := &metav1.DeleteOptions{}
	if got := sub.Delete(&policyv1.Eviction{DeleteOptions: opts}); got != opts {
		t.Errorf("got %v", got)
	}
}

func TestEphemeralContainers(t *testing.T) {
	sub := rowOf(t, "", "v1", "Pod").Subresource("ephemeralcontainers")
	with := func(names ...string) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, name := range names {
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
				EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"},
			})
		}
		return pod
	}
	pod := with("a")
	defaultPod(pod)
	if err := sub.WriteInto(pod.DeepCopy(), with("b"), noon); !apierrors.IsInvalid(err) {
		t.Errorf("one gone: %v", err)
	}
	if err := sub.WriteInto(pod, with("a", "b"), noon); err != nil || len(pod.Spec.EphemeralContainers) != 2 {
		t.Errorf("one more: %v", err)
	}
}

// TestEventConversion converts events of both APIs there and back.
func TestEventConversion(t *testing.T) {
	conversion := rowOf(t, "events.k8s.io", "v1", "Event").Storage
	at := metav1.NewMicroTime(noon)
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"},
		EventTime:  at,
		Series:     &eventsv1.EventSeries{Count: 2, LastObservedTime: at},

		ReportingController: "c", ReportingInstance: "i", Action: "act", Reason: "r",
		Regarding: corev1.ObjectReference{Kind: "Pod", Name: "p"}, Related: &corev1.ObjectReference{Kind: "Node"},
		Note: "n", Type: "Normal",

		DeprecatedSource:         corev1.EventSource{Component: "c", Host: "h"},
		DeprecatedFirstTimestamp: metav1.NewTime(noon), DeprecatedLastTimestamp: metav1.NewTime(noon), DeprecatedCount: 4,
	}
	if diff := cmp.Diff(event, conversion.From(conversion.To(event))); diff != "" {
		t.Error(diff)
	}
}

func TestPodGracePeriod(t *testing.T) {
	grace := rowOf(t, "", "v1", "Pod").Strategy.GracePeriod
	seconds := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		name  string
		pod   corev1.Pod
		asked *int64
		want  int64
	}{
		{"never scheduled", corev1.Pod{}, seconds(9), 0},
		{"ended", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}, seconds(9), 0},
		{"asked", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, seconds(9), 9},
		{"asked for none", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, seconds(0), 0},
		{"spec", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: seconds(4)}}, nil, 4},
		{"negative", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: seconds(-4)}}, nil, 1},
		{"default", corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, nil, 30},
	} {
		if got := grace(&test.pod, test.asked); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func BenchmarkValidatePod(b *testing.B) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}}}
	defaultPod(pod)
	b.ReportAllocs()
	for b.Loop() {
		if errs := validation.Pod(pod); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
