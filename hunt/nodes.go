package hunt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// nodeAway is how long a lost node is away, in the cluster's time: longer than until its Node and the pods on it are not ready (50 s), and shorter
// than until they are evicted (five minutes).
const nodeAway = time.Minute

var errNoNode = errors.New("no node runs pods of the operator")

// losesNodesLocked reports whether the operator has pods, or creates what has pods, on nodes that can be lost.
func (c *course) losesNodesLocked() bool {
	if !c.touched[podsResource] || len(c.cluster.Kubelets().Nodes()) == 0 {
		return false
	}
	for _, s := range c.subjects {
		if !s.users && (s.resource == podsResource || runsPods(s.resource)) {
			return true
		}
	}
	return false
}

// loseNodeLater crashes the node with most pods of the operator podsDelay after a write, and starts it again.
func (c *course) loseNodeLater(d *Disturbance) {
	c.partLater(podsDelay, d, func(ctx context.Context) error {
		node, err := c.busiestNode(ctx)
		if err != nil {
			return err
		}
		if err := c.cluster.Kubelets().CrashNode(node); err != nil {
			return err
		}
		c.happens(node + " is lost")
		c.partLater(nodeAway, d, func(context.Context) error {
			c.happens(node + " returns")
			return c.cluster.Kubelets().StartNode(node)
		})
		return nil
	})
}

// busiestNode returns the node that runs most pods of the operator. It leaves out nodes that run pods without restartPolicy Always, such as
// pods of Jobs: a crash of the node would end these for good.
func (c *course) busiestNode(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(c.cluster.Config())
	if err != nil {
		return "", err
	}
	owners := c.ownersOfPods()
	sets, err := client.AppsV1().ReplicaSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range sets.Items {
		if ref := metav1.GetControllerOf(&sets.Items[i]); ref != nil && owners[ref.UID] {
			owners[sets.Items[i].UID] = true
		}
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	counts, others := map[string]int{}, map[string]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		ref := metav1.GetControllerOf(p)
		switch {
		case p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case p.Spec.RestartPolicy != corev1.RestartPolicyAlways:
			others[p.Spec.NodeName] = true
		case owners[p.UID] || ref != nil && owners[ref.UID]:
			counts[p.Spec.NodeName]++
		}
	}
	busiest := ""
	for _, node := range slices.Sorted(maps.Keys(counts)) {
		if !others[node] && (busiest == "" || counts[node] > counts[busiest]) {
			busiest = node
		}
	}
	if busiest == "" {
		return "", errNoNode
	}
	return busiest, nil
}

// ownersOfPods returns the UIDs of what the operator has created that runs pods, or is one.
func (c *course) ownersOfPods() map[types.UID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners := map[types.UID]bool{}
	for _, s := range c.subjects {
		if m, err := meta.Accessor(s.last); err == nil && !s.users && (s.resource == podsResource || runsPods(s.resource)) {
			owners[m.GetUID()] = true
		}
	}
	return owners
}

// partLater does a part of an act after a while of the cluster's time. The act is not over before that; if the part fails, it was not possible.
func (c *course) partLater(after time.Duration, d *Disturbance, do func(ctx context.Context) error) {
	c.mu.Lock()
	c.undoing++
	c.mu.Unlock()
	c.cluster.Clock().AfterFunc(after, func() {
		c.later(func(ctx context.Context) {
			err := do(ctx)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.undoing--
			if err != nil {
				c.planned = append(c.planned, *d)
			}
		})
	})
}

// happens adds an event to the timeline that is no write.
func (c *course) happens(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, Call{After: c.cluster.Clock().Since(c.begin), What: what})
}
