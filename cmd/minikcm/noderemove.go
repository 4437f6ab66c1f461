package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"minikcm.dev/minikcm/internal/drain"
)

// nodeRemove holds the flags of "minikcm node remove".
type nodeRemove struct {
	kubeconfig  string
	drain, wait bool
	options     drain.Options
	timeout     time.Duration
}

func newNodeRemove() *cobra.Command {
	var remove nodeRemove
	cmd := &cobra.Command{
		Use:   "remove NAME...",
		Short: "Remove nodes and show what happens to their pods",
		Long: `Delete Nodes of the cluster that "minikcm up" runs, together with their simulated
machines. Pods that are still bound to a removed node are lost: the pod garbage collector
deletes them 40 s later, and the command waits for that. With --drain, the node is first
cordoned and its pods are evicted, which PodDisruptionBudgets may delay; as with kubectl
drain, pods that would be lost for good, or lose data, need further flags.`,
		Example: `  minikcm node remove node-2
  minikcm node remove node-1 node-2 --drain`,
		Args:              someArgs("the name of a node"),
		ValidArgsFunction: completeNodes,
		RunE: func(cmd *cobra.Command, names []string) error {
			return remove.run(cmd, slices.Compact(slices.Sorted(slices.Values(names))))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&remove.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.BoolVar(&remove.drain, "drain", false, "evict the nodes' pods first, as \"kubectl drain\" does; pods of DaemonSets are not evicted")
	registerDrainFlags(flags, &remove.options)
	flags.BoolVar(&remove.wait, "wait", true, "wait until the pods of the nodes are gone")
	flags.DurationVar(&remove.timeout, "timeout", 2*time.Minute, "how long to wait for evictions and until the pods are gone")
	return cmd
}

func (r *nodeRemove) run(cmd *cobra.Command, names []string) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), r.timeout)
	defer cancel()
	_, client, err := ownClusterOf(ctx, r.kubeconfig)
	if err != nil {
		return err
	}
	nodes := make([]*corev1.Node, len(names))
	for i, name := range names {
		nodes[i], err = client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return badInput{fmt.Errorf("node %s does not exist, so no node was removed; \"minikcm kubectl get nodes\" lists the nodes", name)}
		case err != nil:
			return fmt.Errorf("getting node %s: %w", name, err)
		}
	}
	var left [][]corev1.Pod
	for _, node := range nodes {
		pods, err := r.remove(ctx, client, node, cmd.OutOrStdout())
		if err != nil {
			return err
		}
		left = append(left, pods)
	}
	for i, node := range nodes {
		if err := r.follow(ctx, client, node.Name, left[i], cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a Node and returns the pods that were bound to it just before.
func (r *nodeRemove) remove(ctx context.Context, client kubernetes.Interface, node *corev1.Node, out io.Writer) ([]corev1.Pod, error) {
	if r.drain {
		if err := drainNode(ctx, client, node.Name, r.options, out); err != nil {
			return nil, fmt.Errorf("draining node %s: %w\nthe node was cordoned but not removed; \"minikcm kubectl uncordon %s\" makes it schedulable again", node.Name, err, node.Name)
		}
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", node.Name, err)
	}
	err = client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("removing node %s: %w", node.Name, err)
	}
	_, err = fmt.Fprintf(out, "node/%s removed with %s on it\n", node.Name, count(len(pods.Items), "pod"))
	return pods.Items, err
}

// follow prints what happens to the pods of a removed node.
func (r *nodeRemove) follow(ctx context.Context, client kubernetes.Interface, node string, pods []corev1.Pod, out io.Writer) error {
	if !r.wait || len(pods) == 0 {
		for i := range pods {
			if _, err := fmt.Fprintf(out, "pod %s/%s is left to the pod garbage collector%s\n", pods[i].Namespace, pods[i].Name, afterwards(&pods[i])); err != nil {
				return err
			}
		}
		return nil
	}
	err := waitGone(ctx, client, node, pods, func(pod *corev1.Pod) error {
		_, err := fmt.Fprintf(out, "pod %s/%s deleted after its node %s%s\n", pod.Namespace, pod.Name, node, afterwards(pod))
		return err
	})
	if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w within %v; is the pod garbage collector running (\"minikcm controllers pod-garbage-collector-controller\"), or does a finalizer hold them?", err, r.timeout)
	}
	return err
}

// waitGone calls gone for each pod when it is deleted, and returns when all pods are deleted.
func waitGone(ctx context.Context, client kubernetes.Interface, node string, pods []corev1.Pod, gone func(*corev1.Pod) error) error {
	pending := map[types.UID]*corev1.Pod{}
	for i := range pods {
		pending[pods[i].UID] = &pods[i]
	}
	lose := func(uid types.UID) error {
		pod := pending[uid]
		if pod == nil {
			return nil
		}
		delete(pending, uid)
		return gone(pod)
	}
	already := func(store cache.Store) (bool, error) {
		there := map[types.UID]bool{}
		for _, obj := range store.List() {
			if pod, ok := obj.(*corev1.Pod); ok {
				there[pod.UID] = true
			}
		}
		for i := range pods {
			if uid := pods[i].UID; !there[uid] {
				if err := lose(uid); err != nil {
					return false, err
				}
			}
		}
		return len(pending) == 0, nil
	}
	_, err := watchtools.UntilWithSync(ctx, podsOn(client, node), &corev1.Pod{}, already, func(ev watch.Event) (bool, error) {
		pod, ok := ev.Object.(*corev1.Pod)
		if !ok || ev.Type != watch.Deleted {
			return false, nil
		}
		err := lose(pod.UID)
		return len(pending) == 0, err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s of node %s not deleted", count(len(pending), "pod"), node)
	}
	return err
}

// afterwards describes the replacement of a deleted pod, as the end of a sentence.
func afterwards(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return ": it had ended"
	case owner == nil:
		return ": no controller replaces it"
	case owner.Kind == "DaemonSet":
		return fmt.Sprintf(": DaemonSet %s runs one on each node", owner.Name)
	}
	return fmt.Sprintf(": %s %s replaces it", strings.TrimSpace(owner.Kind), owner.Name)
}
