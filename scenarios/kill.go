package scenarios

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func (k *Kill) check(line int) error {
	switch {
	case k.Pods == nil && k.Node == "":
		return at(line, "kill needs pods or node")
	case k.Pods != nil && k.Node != "":
		return at(line, "kill has both pods and node: make them steps of their own")
	case k.Pods == nil:
		return nil
	case k.Pods.Selector == "":
		return at(line, "kill.pods.selector is missing: say which pods, such as app=web")
	case k.Pods.Count < 0:
		return at(line, "kill.pods.count must not be negative: %d", k.Pods.Count)
	}
	if err := checkSelector(k.Pods.Selector); err != nil {
		return at(line, "kill.pods.selector: %w", err)
	}
	if k.Pods.Count == 0 {
		k.Pods.Count = 1
	}
	if k.Pods.Namespace == "" {
		k.Pods.Namespace = metav1.NamespaceDefault
	}
	return nil
}

func (k *Kill) title() string {
	if k.Node != "" {
		return "kill node/" + k.Node
	}
	return fmt.Sprintf("kill %d of the pods %s", k.Pods.Count, k.Pods.Selector)
}

func (k *Kill) run(ctx context.Context, r *run) error {
	if k.Node != "" {
		if err := r.cluster.Kubelets().StopNode(k.Node); err != nil {
			return fmt.Errorf("killing node %s: %w", k.Node, err)
		}
		r.note("node/%s stopped", k.Node)
		return nil
	}
	pods := r.cluster.Client().CoreV1().Pods(k.Pods.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: k.Pods.Selector})
	if err != nil {
		return fmt.Errorf("listing the pods to kill: %w", err)
	}
	candidates := list.Items
	if len(candidates) < k.Pods.Count {
		return fmt.Errorf("%d pods were to be killed, but in namespace %s %d match %s", k.Pods.Count, k.Pods.Namespace, len(candidates), k.Pods.Selector)
	}
	for range k.Pods.Count {
		i := r.random.IntN(len(candidates))
		pod := candidates[i]
		candidates = append(candidates[:i:i], candidates[i+1:]...)
		err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil {
			return fmt.Errorf("killing pod %s: %w", pod.Name, err)
		}
		r.note("pod/%s killed", pod.Name)
	}
	return nil
}
