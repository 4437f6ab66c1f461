package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/simulatedcloud"
	"minikcm.dev/minikcm/kubeletsim"
)

// ReadyOptions select the conditions that AwaitReady waits for.
type ReadyOptions struct {
	// Until calls look after every write, until it returns true or an error.
	Until func(ctx context.Context, look func(context.Context) (bool, error)) error
	// Loaded are simulated nodes that are not in Options.Nodes.
	Loaded []string
	// Progress, if not nil, is called with the number of nodes that are ready and of all nodes.
	Progress func(ready, nodes int)
}

// AwaitReady returns when pods can be scheduled on every Ready node and the namespace default has its service
// account, without which pods cannot be created. It does not wait for nodes that are to be Ready later
// (AnnotationReadyDelay): on a virtual clock, that is up to the caller.
func (p *Parts) AwaitReady(ctx context.Context, o ReadyOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-p.opts.Group.Done():
			cancel(p.opts.Group.Err())
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel(nil)
	select {
	case <-p.Kubelets.Begun(): // until then, nodes is incomplete
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r := &readiness{
		client: p.client, account: !slices.Contains(p.opts.Selected, controllers.ServiceAccount), taints: p.newTaints(),
		inCloud: p.opts.InCloud, observed: p.opts.Nodes.Observe, nodes: p.awaitedNodes(o.Loaded), starting: o.Progress,
	}
	r.total = len(r.nodes)
	err := o.Until(ctx, r.look)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil && ctx.Err() != nil:
		err = cause
	}
	return fmt.Errorf("waiting for %s: %w", r.missing(), err)
}

// awaitedNodes returns the nodes of the options, and the loaded ones.
func (p *Parts) awaitedNodes(loaded []string) []string {
	names := p.Kubelets.Nodes()
	if p.opts.Shares { // the nodes of the other processes, too
		names = kubeletsim.NodeNames(p.opts.Nodes.Nodes, p.opts.Nodes.Pools)
	}
	for _, name := range loaded {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// newTaints returns the taints of new nodes that controllers remove.
func (p *Parts) newTaints() []string {
	var taints []string
	if slices.Contains(p.opts.Selected, controllers.NodeLifecycle) {
		taints = append(taints, corev1.TaintNodeNotReady)
	}
	if p.opts.InCloud && slices.Contains(p.opts.Selected, controllers.CloudNode) {
		taints = append(taints, simulatedcloud.TaintUninitialized)
	}
	return taints
}

// readiness tracks the conditions that AwaitReady still waits for.
type readiness struct {
	client  kubernetes.Interface
	account bool
	// taints are the taints of new nodes, which nodes have to lose, too.
	taints []string
	// inCloud says that the instances of nodes may be stopped, or gone: these are not waited for.
	inCloud bool
	// observed says that the cluster began with the state of another: Nodes that were not Ready there
	// are not waited for.
	observed bool
	nodes    []string
	// starting is ReadyOptions.Progress, and total the number of nodes at first.
	starting func(ready, nodes int)
	total    int
}

func (r *readiness) missing() string {
	switch {
	case !r.account:
		return "the default service account"
	case len(r.nodes) > 0:
		return fmt.Sprintf("%d nodes to be Ready, %s first", len(r.nodes), r.nodes[0])
	}
	return "the cluster"
}

// look reads only the first object that is not ready, so that a write does not cause as
// many reads as there are nodes.
func (r *readiness) look(ctx context.Context) (bool, error) {
	if !r.account {
		_, err := r.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false, ignoreNotFound(err)
		}
		r.account = true
	}
	if r.starting != nil {
		defer func() { r.starting(r.total-len(r.nodes), r.total) }()
	}
	for len(r.nodes) > 0 {
		node, err := r.client.CoreV1().Nodes().Get(ctx, r.nodes[0], metav1.GetOptions{})
		if err != nil || !kubeletsim.IsDelayed(node) && (!isReady(node) || r.isNew(node)) {
			if off, failed := r.isOff(ctx, node); !off && !r.wasNotReady(node, err) || failed != nil {
				return false, errors.Join(ignoreNotFound(err), failed)
			}
		}
		r.nodes = r.nodes[1:]
	}
	return true, nil
}

// wasNotReady reports whether a Node states that it is not Ready in a cluster that leaves it so.
func (r *readiness) wasNotReady(node *corev1.Node, err error) bool {
	return r.observed && err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// isOff reports whether the instance of the first node is stopped, is gone, or does not belong to its Node
// any more.
func (r *readiness) isOff(ctx context.Context, node *corev1.Node) (bool, error) {
	if !r.inCloud {
		return false, nil
	}
	id := node.Spec.ProviderID // empty if there is no Node
	c, err := r.client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Get(ctx, r.nodes[0], metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err) && simulatedcloud.IsProviderID(id), ignoreNotFound(err)
	}
	i, ok := simulatedcloud.InstanceOf(c)
	return ok && (i.Stopped || simulatedcloud.IsProviderID(id) && i.ProviderID != id), nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// isNew reports whether the node has a taint of new nodes: the one that the admission plugin
// TaintNodesByCondition adds, and the node lifecycle controller removes, or the one that a kubelet in a
// cloud adds.
func (r *readiness) isNew(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(r.taints, t.Key) && t.Effect == corev1.TaintEffectNoSchedule
	})
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
