package determinism

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim"
)

// gangsCompete lets gangs compete for three nodes of two CPUs, while pods end and a node is lost.
func gangsCompete(ctx context.Context, d *driver) error {
	if err := inOrder(ctx, d, gang("red", 4), gang("blue", 5), gang("green", 2), deployment("web", 3)); err != nil {
		return err
	}
	for i := range 5 {
		if err := inOrder(ctx, d, gangPod("red", i), gangPod("blue", i), gangPod("green", i)); err != nil {
			return err
		}
	}
	if err := d.cluster.Advance(ctx, time.Minute); err != nil {
		return err
	}
	for range 6 {
		if err := inOrder(ctx, d, endGangPod, pass(7*time.Second)); err != nil {
			return err
		}
	}
	return inOrder(ctx, d,
		node("node-1", (*kubeletsim.Kubelets).CrashNode), gangPod("green", 9), pass(8*time.Minute),
		node("node-1", (*kubeletsim.Kubelets).StartNode), pass(10*time.Minute),
		goldClass, gang("gold", 6, whole), goldPods, pass(10*time.Minute),
		hasPreempted,
	)
}

func goldPods(ctx context.Context, d *driver) error {
	for i := range 6 { // as many as there are CPUs
		if err := gangPod("gold", i)(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// hasPreempted checks that a gang has preempted pods.
func hasPreempted(ctx context.Context, d *driver) error {
	events, err := d.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Preempted"})
	if err != nil || len(events.Items) > 0 {
		return err
	}
	return errors.New("no gang has preempted a pod")
}

// goldClass creates the priority class of the gang "gold", which preempts pods of the others.
func goldClass(ctx context.Context, d *driver) error {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 10}
	_, err := d.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
	return err
}

// whole gives a PodGroup the class "gold", and lets it be disrupted as a whole.
func whole(group *schedulingv1beta1.PodGroup) {
	group.Spec.PriorityClassName = "gold"
	group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
}

func gang(name string, minCount int32, change ...func(*schedulingv1beta1.PodGroup)) step {
	return func(ctx context.Context, d *driver) error {
		group := &schedulingv1beta1.PodGroup{ObjectMeta: meta(name)}
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
		for _, f := range change {
			f(group)
		}
		_, err := d.client.SchedulingV1beta1().PodGroups("default").Create(ctx, group, metav1.CreateOptions{})
		return err
	}
}

func gangPod(group string, i int) step {
	return func(ctx context.Context, d *driver) error {
		pod := &corev1.Pod{ObjectMeta: meta(fmt.Sprintf("%s-%d", group, i)), Spec: template(group).Spec}
		pod.Labels["app"] = "gang"
		if group == "gold" {
			pod.Spec.PriorityClassName = group
		}
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		_, err := d.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	}
}

// endGangPod deletes a random pod of the gangs.
func endGangPod(ctx context.Context, d *driver) error { return kill("gang")(ctx, d) }

// TestGangsReplay compares runs of one seed in which gangs compete.
func TestGangsReplay(t *testing.T) {
	t.Parallel()
	twoCPUs := func(o *minikcm.Options) {
		o.EnableFeature("GenericWorkload")
		o.Nodes.Spec = minikcm.NodeSpec{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	}
	first := writesOf(t, 7, gangsCompete, twoCPUs)
	for n := 2; n <= *runs; n++ {
		again := writesOf(t, 7, gangsCompete, twoCPUs)
		if at := firstDifference(first, again); at >= 0 {
			t.Fatalf("run %d differs from the first one at write %d of %d:\n%s", n, at, len(first), cmp.Diff(around(first, at), around(again, at)))
		}
	}
	if slices.Equal(first, writesOf(t, 8, gangsCompete, twoCPUs)) {
		t.Error("another seed changes nothing")
	}
}
