package scenarios

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/format"
)

// errNoMachines is of a cluster whose nodes are none of ours.
var errNoMachines = errors.New("the nodes of a cluster that is not ours cannot be stopped")

func (b *branch) kill(ctx context.Context, k *format.Kill) error {
	if k.Node == "" {
		return b.killPods(ctx, k.Pods)
	}
	switch {
	case b.run.faults != nil:
		return b.faultElsewhere(ctx, stoppedNode(k.Node))
	case b.run.cluster == nil:
		return errNoMachines
	}
	if err := b.run.cluster.Kubelets().StopNode(k.Node); err != nil {
		return fmt.Errorf("killing node %s: %w", k.Node, err)
	}
	b.note("node/%s stopped", k.Node)
	return nil
}

// stoppedNode is the fault that does what killing a node does.
func stoppedNode(name string) *fault.Fault {
	return &fault.Fault{Nodes: &fault.Nodes{Action: fault.NodePartition, Names: []string{name}, Share: fault.Share{All: true}}}
}

func (b *branch) killPods(ctx context.Context, k *format.KillPods) error {
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
