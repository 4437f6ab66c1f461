package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"minikcm.dev/minikcm/minikcmtest"
)

// daemonCluster is a cluster on virtual time with one DaemonSet in it.
type daemonCluster struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newDaemonCluster(t *testing.T, nodes int, change func(d *appsv1.DaemonSet)) *daemonCluster {
	t.Helper()
	c := &daemonCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(nodes)), t}
	labels := map[string]string{"app": "agent"}
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "agent:1"}}},
			},
		},
	}
	if change != nil {
		change(d)
	}
	if _, err := c.Client().AppsV1().DaemonSets("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *daemonCluster) update(change func(d *appsv1.DaemonSet)) {
	c.t.Helper()
	sets := c.Client().AppsV1().DaemonSets("default")
	c.retry(func() error {
		d, err := sets.Get(c.t.Context(), "agent", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(d)
		_, err = sets.Update(c.t.Context(), d, metav1.UpdateOptions{})
		return err
	})
}

func (c *daemonCluster) updateNode(i int, change func(n *corev1.Node)) {
	c.t.Helper()
	name := c.nodes()[i].Name
	nodes := c.Client().CoreV1().Nodes()
	c.retry(func() error {
		n, err := nodes.Get(c.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = nodes.Update(c.t.Context(), n, metav1.UpdateOptions{})
		return err
	})
}

func (c *daemonCluster) retry(do func() error) {
	c.t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultRetry, do); err != nil {
		c.t.Fatal(err)
	}
}

func (c *daemonCluster) nodes() []corev1.Node {
	c.t.Helper()
	list, err := c.Client().CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return list.Items
}

func (c *daemonCluster) pods() []corev1.Pod {
	c.t.Helper()
	return podsWith(c.t, c.Cluster, "app=agent")
}

func (c *daemonCluster) eventually(what string, check func(d *appsv1.DaemonSet) error) *appsv1.DaemonSet {
	c.t.Helper()
	var d *appsv1.DaemonSet
	c.Eventually(what, func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		if d, err = client.AppsV1().DaemonSets("default").Get(ctx, "agent", metav1.GetOptions{}); err != nil {
			return err
		}
		return check(d)
	})
	return d
}

// onNodes checks that n nodes should have a pod and have an available one of the newest
// template.
func onNodes(n int32) func(d *appsv1.DaemonSet) error {
	return func(d *appsv1.DaemonSet) error {
		want := appsv1.DaemonSetStatus{
			ObservedGeneration: d.Generation, DesiredNumberScheduled: n, CurrentNumberScheduled: n, UpdatedNumberScheduled: n, NumberReady: n, NumberAvailable: n,
		}
		if diff := cmp.Diff(want, d.Status); diff != "" {
			return fmt.Errorf("status (-want +got):\n%s", diff)
		}
		return nil
	}
}

func daemonImage(name string) func(d *appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = name }
}

func TestDaemonSetOnePodOnEachNode(t *testing.T) {
	t.Parallel()
	c := newDaemonCluster(t, 3, nil)
	c.eventually("the pods", onNodes(3))
	nodes := map[string]bool{}
	for _, pod := range c.pods() {
		nodes[pod.Spec.NodeName] = true
		terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if got := terms[0].MatchFields[0].Values; len(terms) != 1 || !slices.Equal(got, []string{pod.Spec.NodeName}) {
			t.Errorf("%s is on %s and asks for %v", pod.Name, pod.Spec.NodeName, terms)
		}
		if pod.Labels["pod-template-generation"] != "1" || pod.Labels["controller-revision-hash"] == "" {
			t.Errorf("%s has the labels %v", pod.Name, pod.Labels)
		}
		c.EventuallyEvent("default", "DaemonSet", "Normal SuccessfulCreate Created pod: "+pod.Name)
	}
	if len(nodes) != 3 {
		t.Errorf("pods are on the nodes %v", nodes)
	}
}

func TestDaemonSetNodesComeAndGo(t *testing.T) {
	t.Parallel()
	c := newDaemonCluster(t, 3, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	c.eventually("nothing", onNodes(0))
	c.updateNode(0, func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
	c.updateNode(1, func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
	c.eventually("two pods", onNodes(2))
	c.updateNode(1, func(n *corev1.Node) { delete(n.Labels, "disk") })
	c.eventually("one pod", onNodes(1))
	c.updateNode(0, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	c.eventually("cordoned nodes to keep theirs", onNodes(1))
	taint := corev1.Taint{Key: "only", Value: "others", Effect: corev1.TaintEffectNoSchedule}
	c.updateNode(0, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) })
	c.eventually("a taint that keeps away to let it stay", func(d *appsv1.DaemonSet) error {
		if d.Status.DesiredNumberScheduled != 0 || d.Status.NumberMisscheduled != 1 {
			return fmt.Errorf("status %+v", d.Status)
		}
		return nil
	})
	taint.Effect = corev1.TaintEffectNoExecute
	c.updateNode(0, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) })
	c.eventually("a taint that evicts to drive it out", onNodes(0))
}

func TestDaemonSetRollOut(t *testing.T) {
	t.Parallel()
	two, zero := intstr.FromInt32(2), intstr.FromInt32(0)
	for name, rolling := range map[string]appsv1.RollingUpdateDaemonSet{
		"deleting": {MaxUnavailable: &two, MaxSurge: &zero},
		"surging":  {MaxUnavailable: &zero, MaxSurge: &two},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDaemonCluster(t, 5, func(d *appsv1.DaemonSet) {
				d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &rolling}
				d.Spec.MinReadySeconds = 10
			})
			c.eventually("the pods", onNodes(5))
			begin := c.Clock().Now()
			c.update(daemonImage("agent:2"))
			c.eventually("the rollout", onNodes(5))
			// Three batches, of two, two and one pods, each take ten seconds.
			if took := c.Clock().Since(begin); took < 30*time.Second || took > 50*time.Second {
				t.Errorf("it took %v", took)
			}
			for _, pod := range c.pods() {
				if pod.DeletionTimestamp == nil && pod.Spec.Containers[0].Image != "agent:2" {
					t.Errorf("%s has the image %s", pod.Name, pod.Spec.Containers[0].Image)
				}
			}
		})
	}
}

func TestDaemonSetOnDelete(t *testing.T) {
	t.Parallel()
	c := newDaemonCluster(t, 2, func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType })
	c.eventually("the pods", onNodes(2))
	c.update(daemonImage("agent:2"))
	updated := func(n int32) func(d *appsv1.DaemonSet) error {
		return func(d *appsv1.DaemonSet) error {
			if d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedNumberScheduled != n || d.Status.NumberAvailable != 2 {
				return fmt.Errorf("status %+v", d.Status)
			}
			return nil
		}
	}
	c.eventually("nothing but the status", updated(0))
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), c.pods()[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("one new pod", updated(1))
}

func TestDaemonSetHistory(t *testing.T) {
	t.Parallel()
	limit := int32(1)
	c := newDaemonCluster(t, 1, func(d *appsv1.DaemonSet) { d.Spec.RevisionHistoryLimit = &limit })
	for _, name := range []string{"agent:1", "agent:2", "agent:3", "agent:2"} {
		c.update(daemonImage(name))
		c.eventually("a rollout", onNodes(1))
	}
	c.Eventually("the history to shrink", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.AppsV1().ControllerRevisions("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var numbers []int64
		for _, r := range list.Items {
			numbers = append(numbers, r.Revision)
		}
		slices.Sort(numbers)
		if !slices.Equal(numbers, []int64{3, 4}) {
			return fmt.Errorf("revisions %v", numbers)
		}
		return nil
	})
}

func TestDaemonSetFailedPodsAreReplacedEverSlower(t *testing.T) {
	t.Parallel()
	c := newDaemonCluster(t, 1, nil)
	c.eventually("the pod", onNodes(1))
	begin := c.Clock().Now()
	for range 4 {
		pod := c.pods()[0]
		pod.Status.Phase, pod.ResourceVersion = corev1.PodFailed, "" // unconditional: the pod may have changed
		if _, err := c.Client().CoreV1().Pods("default").UpdateStatus(t.Context(), &pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.EventuallyEvent("default", "DaemonSet", fmt.Sprintf("Warning FailedDaemonPod Found failed daemon pod default/%s on node %s, will try to kill it", pod.Name, pod.Spec.NodeName))
		c.Eventually("another pod", func(ctx context.Context, client kubernetes.Interface) error {
			pods := c.pods()
			if len(pods) != 1 || pods[0].UID == pod.UID || pods[0].Status.Phase != corev1.PodRunning {
				return fmt.Errorf("%d pods", len(pods))
			}
			return nil
		})
	}
	// The second, third and fourth pods wait one, two and four seconds after the previous
	// one.
	if took := c.Clock().Since(begin); took < 7*time.Second || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
