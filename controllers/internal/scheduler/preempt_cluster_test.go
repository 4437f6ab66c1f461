package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/minikcmtest"
)

// Of two nodes, the one whose pod is covered by a budget is spared, although that pod is less
// important than the other one.
func TestPreemptionSparesBudgets(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2))
	ctx, client := t.Context(), c.Client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]int32{"middle": 10, "high": 100} {
		must(client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{}))
	}
	pod := func(name, class, node string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, Annotations: map[string]string{explain.Asked: "true"}}}
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx"}}
		p.Spec.PriorityClassName = class
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{},
		}}}}
		if node != "" {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		}
		return p
	}
	one := intstr.FromInt32(1)
	must(client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "covered"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "covered"}}},
	}, metav1.CreateOptions{}))
	must(client.CoreV1().Pods("default").Create(ctx, pod("covered", "", "node-0"), metav1.CreateOptions{}))
	must(client.CoreV1().Pods("default").Create(ctx, pod("other", "middle", "node-1"), metav1.CreateOptions{}))
	if err := c.Advance(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	must(client.CoreV1().Pods("default").Create(ctx, pod("preemptor", "high", ""), metav1.CreateOptions{}))
	c.Eventually("the preemptor to run", func(ctx context.Context, client kubernetes.Interface) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, "preemptor", metav1.GetOptions{})
		if err == nil && (p.Spec.NodeName != "node-1" || p.Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("it is on %q and %s, nominated to %q", p.Spec.NodeName, p.Status.Phase, p.Status.NominatedNodeName)
		}
		return err
	})
	if p, err := client.CoreV1().Pods("default").Get(ctx, "preemptor", metav1.GetOptions{}); err != nil || p.Annotations[explain.Selected] != "node-1" {
		t.Errorf("the preemptor's annotations: %v, %v", p.Annotations, err)
	}
	if p, err := client.CoreV1().Pods("default").Get(ctx, "covered", metav1.GetOptions{}); err != nil || p.DeletionTimestamp != nil {
		t.Errorf("the covered pod: %v, %v", p, err)
	}
	events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Preempted"})
	must(events, err)
	if len(events.Items) != 1 || events.Items[0].InvolvedObject.Name != "other" || !strings.HasPrefix(events.Items[0].Message, "Preempted by pod ") {
		t.Errorf("events %v", events.Items)
	}
}
