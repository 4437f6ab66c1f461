package scenarios

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// errNoMachines refuses to stop the nodes of a foreign cluster.
var errNoMachines = errors.New("the nodes of a cluster that is not ours cannot be stopped")

// Kill kills pods, or a node.
type Kill struct {
	Pods *KillPods `yaml:"pods"`
	// Node is a node whose machine stops, so that its kubelet is not heard from any more.
	Node string `yaml:"node"`
}

// KillPods deletes pods without grace, or evicts them with theirs.
type KillPods struct {
	Selector      string `yaml:"selector"`
	FieldSelector string `yaml:"fieldSelector"`
	Namespace     string `yaml:"namespace"`
	// Count is the number of matching pods to kill; the seed chooses them; default 1.
	Count int `yaml:"count"`
	// Evict evicts the pods instead. A refusal by a PodDisruptionBudget is noted, and is no
	// failure.
	Evict bool `yaml:"evict"`
}

func (k *Kill) check(c *spec.Checker) {
	switch {
	case k.Pods == nil && k.Node == "":
		c.Problem("", "needs pods or node")
		return
	case k.Pods != nil && k.Node != "":
		c.Problem("", "has both pods and node: make them steps of their own")
		return
	case k.Pods == nil:
		return
	case k.Pods.Selector == "":
		c.Problem("pods.selector", "is missing: say which pods, such as app=web")
	case k.Pods.Count < 0:
		c.Problem("pods.count", "must not be negative: %d", k.Pods.Count)
	}
	c.Check("pods.selector", spec.LabelSelector(k.Pods.Selector))
	c.Check("pods.fieldSelector", spec.FieldSelector(k.Pods.FieldSelector))
	k.Pods.Count = max(k.Pods.Count, 1)
	if k.Pods.Namespace == "" {
		k.Pods.Namespace = "default"
	}
}

func (k *Kill) title() string {
	if k.Node != "" {
		return "kill node/" + k.Node
	}
	verb := "kill"
	if k.Pods.Evict {
		verb = "evict"
	}
	return fmt.Sprintf("%s %d of the pods %s", verb, k.Pods.Count, k.Pods.Selector)
}

// possible refuses to stop a node where only the API of Kubernetes is there.
func (k *Kill) possible(place Place) (field string, err error) {
	if k.Node != "" && place == ForeignCluster {
		return "node", errNoMachines
	}
	return "", nil
}

func (b *branch) kill(ctx context.Context, k *Kill) error {
	if k.Node == "" {
		return b.killPods(ctx, k.Pods)
	}
	switch {
	case b.run.faults != nil:
		return b.faultElsewhere(ctx, stoppedNode(k.Node))
	case b.run.shared:
		return b.fault(ctx, stoppedNode(k.Node))
	case b.run.cluster == nil:
		return errNoMachines
	}
	if err := b.run.cluster.Kubelets().StopNode(k.Node); err != nil {
		return fmt.Errorf("killing node %s: %w", k.Node, err)
	}
	b.note("node/%s stopped", k.Node)
	return nil
}

// stoppedNode returns the fault that has the effect of killing a node.
func stoppedNode(name string) *fault.Fault {
	return &fault.Fault{Nodes: &fault.Nodes{Action: fault.NodePartition, Names: []string{name}, Share: fault.Share{All: true}}}
}

func (b *branch) killPods(ctx context.Context, k *KillPods) error {
	namespace := b.run.kinds.Namespace(k.Namespace)
	candidates, err := b.current(ctx, check.Query{
		Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: namespace, Selector: k.Selector, FieldSelector: k.FieldSelector,
	})
	if err != nil {
		return fmt.Errorf("listing the pods to kill: %w", err)
	}
	if len(candidates) < k.Count {
		return fmt.Errorf("%d pods were to be killed, but in namespace %s %d match %s", k.Count, namespace, len(candidates), k.Selector)
	}
	for range k.Count {
		i := b.random.IntN(len(candidates))
		pod := candidates[i]
		candidates = append(candidates[:i:i], candidates[i+1:]...)
		if err := b.killPod(ctx, pod, k.Evict); err != nil {
			return err
		}
	}
	return nil
}

func (b *branch) killPod(ctx context.Context, pod metav1.Object, evict bool) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.GetUID()))}
	pods := b.run.client.CoreV1().Pods(pod.GetNamespace())
	if !evict {
		options.GracePeriodSeconds = ptr.To[int64](0)
		if err := pods.Delete(ctx, pod.GetName(), options); err != nil {
			return fmt.Errorf("killing pod %s: %w", pod.GetName(), err)
		}
		b.note("pod/%s killed", pod.GetName())
		return nil
	}
	note, err := fault.EvictOnce(ctx, b.run.client, pod, nil)
	if err == nil {
		b.note("%s", note)
	}
	return err
}
