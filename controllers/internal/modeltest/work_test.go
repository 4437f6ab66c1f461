package modeltest_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	disruption "minikcm.dev/minikcm/controllers/internal/disruption/decide"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	nodelifecycle "minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
)

// events returns the work of one further event for the decisions that need no reconciler.
func events() map[string]modeltest.Work {
	return map[string]modeltest.Work{
		"garbagecollector": waitingOwner, "nodelifecycle": turningNode, "disruption": budgetedPod, "disruption-first": firstPod,
	}
}

// waitingOwner is an owner in foreground deletion with dependents that do not block it. One of
// them goes, and another one comes.
func waitingOwner(_ testing.TB, children int) func() error {
	g, serial := graph.New(), 0
	object := func(uid types.UID, owners ...metav1.OwnerReference) graph.Observation {
		serial++
		return graph.Observation{
			Coordinates: graph.Coordinates{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: string(uid), UID: uid}, ResourceVersion: fmt.Sprint(serial),
			Owners: owners,
		}
	}
	owner := object("owner")
	owner.Deleting, owner.Foreground = true, true
	g.Seen(owner)
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner"}
	for i := range children {
		g.Seen(object(types.UID(fmt.Sprint(i)), ref))
	}
	return func() error {
		blocker := ref
		blocker.BlockOwnerDeletion = ptr.To(true)
		g.Seen(object("blocker", blocker))
		g.View("owner")
		if woken := g.Gone("blocker").Wake; len(woken) == 0 {
			return fmt.Errorf("the owner is not woken")
		}
		if v, _ := g.View("owner"); v.Blocked {
			return fmt.Errorf("the owner is blocked")
		}
		return nil
	}
}

// turningNode is a zone of nodes of which one becomes ready or not ready.
func turningNode(_ testing.TB, children int) func() error {
	zones, ready := nodelifecycle.NewZones(nodelifecycle.ZoneOptions{}), true
	node := func(i int, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
		}
	}
	for i := range children {
		zones.Observe(node(i, corev1.ConditionTrue))
	}
	return func() error {
		ready = !ready
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		if woken := zones.Observe(node(0, status)); len(woken) > 0 {
			return fmt.Errorf("%d nodes are woken", len(woken))
		}
		return nil
	}
}

// budgeted is a namespace with pods of a StatefulSet, whose labels all differ.
func budgeted(children int) (a *disruption.Account, pod func(i int, ready bool) *corev1.Pod, look func() disruption.Pods) {
	a = disruption.NewAccount()
	pod = func(i int, ready bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: fmt.Sprintf("db-%06d", i), Labels: map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": fmt.Sprint("db-", i)},
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}},
		}}
		if ready {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return p
	}
	for i := range children {
		a.Set(pod(i, true))
	}
	selector := labels.SelectorFromSet(labels.Set{"app": "db"})
	look = func() disruption.Pods { return a.Look(selector, nil) }
	look() // the first selector counts all pods
	return a, pod, look
}

func budgetedPod(_ testing.TB, children int) func() error {
	a, pod, look := budgeted(children)
	ready := true
	return func() error {
		ready = !ready
		a.Set(pod(children/2, ready))
		if found := look(); int(found.Number) != children {
			return fmt.Errorf("%d pods", found.Number)
		}
		return nil
	}
}

// firstPod is the pod of a budget whose name sorts first. It is deleted and created again.
func firstPod(_ testing.TB, children int) func() error {
	a, pod, look := budgeted(children)
	return func() error {
		a.Unset(types.NamespacedName{Namespace: "a", Name: pod(0, true).Name})
		look()
		a.Set(pod(0, true))
		if found := look(); int(found.Number) != children {
			return fmt.Errorf("%d pods", found.Number)
		}
		return nil
	}
}
