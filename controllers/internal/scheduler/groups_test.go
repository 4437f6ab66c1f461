package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestCheckGroup(t *testing.T) {
	scheduler := func(name string) st.PodOption { return func(p *corev1.Pod) { p.Spec.SchedulerName = name } }
	never := func(p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever) }
	for name, test := range map[string]struct {
		priority *int32
		pods     []*corev1.Pod
		want     string
	}{
		"none":      {},
		"alike":     {pods: []*corev1.Pod{st.Pod("a"), st.Pod("b")}},
		"priority":  {priority: ptr.To[int32](5), pods: []*corev1.Pod{st.Pod("a", st.Priority(5)), st.Pod("b", st.Priority(6))}, want: "all pods in a single pod group should have the same priority as the pod group's priority, got 6 and 5"},
		"scheduler": {pods: []*corev1.Pod{st.Pod("a", scheduler("x")), st.Pod("b", scheduler("y"))}, want: `all pods in a single pod group should have the same .spec.schedulerName set, got: "y" and "x"`},
		"policy":    {pods: []*corev1.Pod{st.Pod("a"), st.Pod("b", never)}, want: "all pods in a single pod group should have the same preemption policy, got Never and PreemptLowerPriority"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkGroup(&schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{Priority: test.priority}}, test.pods); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
