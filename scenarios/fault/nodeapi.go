package fault

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// byAPI changes a node through the Kubernetes API, as an administrator would.
func (n *Nodes) byAPI(ctx context.Context, env *Env, name string) (injected, error) {
	switch n.Action {
	case NodeDelete:
		err := env.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("deleting node %s: %w", name, err)
		}
		env.note("node/%s deleted", name)
		return nil, nil
	case NodeTaint:
		return n.taint(ctx, env, name)
	case NodeStopInstance:
		return stopInstance(ctx, env, name)
	case NodeDeleteInstance:
		return nil, deleteInstance(ctx, env, name)
	}
	return change{
		does: "cordoned", undoes: "uncordoned",
		do:   func(node *corev1.Node) { node.Spec.Unschedulable = true },
		undo: func(node *corev1.Node) { node.Spec.Unschedulable = false },
	}.hold(ctx, env, name)
}

// taint adds a taint to a node.
func (n *Nodes) taint(ctx context.Context, env *Env, name string) (injected, error) {
	taint, err := ParseTaint(n.Taint)
	if err != nil {
		return nil, err
	}
	remove := func(node *corev1.Node) { removeTaint(node, &taint) }
	return change{
		does: "tainted " + n.Taint, undoes: "no longer tainted " + n.Taint,
		do: func(node *corev1.Node) {
			remove(node)
			node.Spec.Taints = append(node.Spec.Taints, taint)
		},
		undo: remove,
	}.hold(ctx, env, name)
}

// change is a fault's change of a Node through the API, and its reversal.
type change struct {
	does, undoes string
	do, undo     func(*corev1.Node)
}

// hold makes the change, and returns what undoes it when the last fault that made it is
// over. With an error the change may have been made all the same, so that it has to be
// undone.
func (c change) hold(ctx context.Context, env *Env, name string) (injected, error) {
	last := env.Holds.count("node/" + name + " " + c.does)
	undo := func(ctx context.Context) error {
		if !last() {
			return nil
		}
		if err := changeNode(ctx, env, name, c.undo); err != nil {
			return ignoreNotFound(err)
		}
		env.note("node/%s %s", name, c.undoes)
		return nil
	}
	if err := changeNode(ctx, env, name, c.do); err != nil {
		return undo, err
	}
	env.note("node/%s %s", name, c.does)
	return undo, nil
}

func removeTaint(node *corev1.Node, taint *corev1.Taint) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(taint) })
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// nodeConflicts limits how often a change of a Node is retried after a conflict, and gives
// the delays by the machine's clock. Kubelets and controllers write Nodes often.
var nodeConflicts = wait.Backoff{Steps: 15, Duration: 5 * time.Millisecond, Factor: 1.4, Jitter: 0.1}

// changeNode changes a Node that others write too.
func changeNode(ctx context.Context, env *Env, name string, change func(*corev1.Node)) error {
	err := retry.RetryOnConflict(nodeConflicts, func() error {
		node, err := env.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = env.Client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing node %s: %w", name, err)
	}
	return nil
}
