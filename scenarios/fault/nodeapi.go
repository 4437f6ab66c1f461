package fault

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// byAPI does to a node what an administrator could.
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
		taint, err := ParseTaint(n.Taint)
		if err != nil {
			return nil, err
		}
		env.note("node/%s tainted %s", name, n.Taint)
		return func(ctx context.Context) error {
				return changeNode(ctx, env, name, func(node *corev1.Node) { removeTaint(node, &taint) })
			}, changeNode(ctx, env, name, func(node *corev1.Node) {
				removeTaint(node, &taint)
				node.Spec.Taints = append(node.Spec.Taints, taint)
			})
	}
	cordon := func(ctx context.Context, cordoned bool) error {
		return changeNode(ctx, env, name, func(node *corev1.Node) { node.Spec.Unschedulable = cordoned })
	}
	undo := func(ctx context.Context) error {
		env.note("node/%s uncordoned", name)
		return ignoreNotFound(cordon(ctx, false))
	}
	if err := cordon(ctx, true); err != nil {
		return nil, err
	}
	env.note("node/%s cordoned", name)
	if n.Action == NodeDrain {
		d := &drain{node: name}
		done, err := d.attempt(ctx, env)
		if !done {
			env.drains = append(env.drains, d)
		}
		return undo, err
	}
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

// changeNode changes a node that others write too.
func changeNode(ctx context.Context, env *Env, name string, change func(*corev1.Node)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
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
