package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Shortfall is a controller of pods that has fewer than it wants, and fewer than before the changes.
type Shortfall struct {
	Workload Target `json:"workload"`
	Wants    int    `json:"wants"`
	Has      int    `json:"has"`
	Reason   string `json:"reason"`
}

// controller is a ReplicaSet, a StatefulSet or a ReplicationController.
type controller struct {
	target Target
	uid    types.UID
	wants  int
	// failure is the message of its last attempt to create a pod; empty: it succeeded.
	failure string
}

// controllers lists the objects that control a number of pods.
func (f *Fork) controllers(ctx context.Context) ([]controller, error) {
	var all []controller
	add := func(kind string, o metav1.Object, wants *int32, failure string) {
		n := 1
		if wants != nil {
			n = int(*wants)
		}
		all = append(all, controller{Target{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, o.GetUID(), n, failure})
	}
	sets, err := f.client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ReplicaSets: %w", err)
	}
	for i := range sets.Items {
		o, failure := &sets.Items[i], ""
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
				failure = c.Message
			}
		}
		add("replicaset", o, o.Spec.Replicas, failure)
	}
	stateful, err := f.client.AppsV1().StatefulSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing StatefulSets: %w", err)
	}
	for i := range stateful.Items {
		add("statefulset", &stateful.Items[i], stateful.Items[i].Spec.Replicas, "")
	}
	older, err := f.client.CoreV1().ReplicationControllers("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ReplicationControllers: %w", err)
	}
	for i := range older.Items {
		add("replicationcontroller", &older.Items[i], older.Items[i].Spec.Replicas, "")
	}
	return all, nil
}

// shortfalls returns the controllers that lack further pods.
func shortfalls(before, after *state) []Shortfall {
	had, has := before.active(), after.active()
	lacked := map[types.UID]int{}
	for _, c := range before.controllers {
		lacked[c.uid] = c.wants - had[c.uid]
	}
	var all []Shortfall
	for _, c := range after.controllers {
		if lacks := c.wants - has[c.uid]; lacks > 0 && lacks > lacked[c.uid] {
			all = append(all, Shortfall{Workload: c.target, Wants: c.wants, Has: has[c.uid], Reason: after.whyShort(&c)})
		}
	}
	slices.SortFunc(all, func(a, b Shortfall) int { return strings.Compare(a.Workload.String(), b.Workload.String()) })
	return all
}

// active counts the pods of each controller that are not being deleted and have not ended.
func (s *state) active() map[types.UID]int {
	counts := map[types.UID]int{}
	for i := range s.pods {
		if pod := &s.pods[i]; pod.DeletionTimestamp == nil && !ended(pod) {
			counts[ownerOf(pod)]++
		}
	}
	return counts
}

// whyShort returns why a controller has fewer pods than it wants: the API server refuses one, or one that is
// being deleted does not go.
func (s *state) whyShort(c *controller) string {
	if c.failure != "" {
		return c.failure
	}
	for i := range s.pods {
		pod := &s.pods[i]
		if ownerOf(pod) != c.uid || pod.DeletionTimestamp == nil {
			continue
		}
		text := fmt.Sprintf("pod %s is being deleted, and does not end", pod.Name)
		switch {
		case len(pod.Finalizers) > 0:
			text += ": it has the finalizers " + strings.Join(pod.Finalizers, ", ")
		case pod.Spec.NodeName != "" && !s.reports(pod.Spec.NodeName):
			text += fmt.Sprintf(": its node %s does not answer; the pod goes when the Node is deleted, or gets the taint %s", pod.Spec.NodeName, corev1.TaintNodeOutOfService)
		}
		return text
	}
	return "its controller creates no more pods"
}

// reports reports whether a node is Ready.
func (s *state) reports(node string) bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return n.Name == node && nodeReady(&n) })
}
