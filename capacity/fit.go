package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
	"minikcm.dev/minikcm/controllers/scheduler/plugins"
	"minikcm.dev/minikcm/reasons"
)

// DefaultLimit is how many more replicas are tried at most.
const DefaultLimit = 1000

// Fit scales a workload up, and counts how many of the new replicas the scheduler finds a
// node for. wanted is how many replicas there are to be altogether; 0: as many as fit, at
// most limit more. A workload that is not there is an InputError.
func (f *Fork) Fit(ctx context.Context, target *Target, wanted, limit int) (*Fit, error) {
	replicas, err := f.replicas(ctx, target)
	if err != nil {
		return nil, err
	}
	tried := replicas + limit
	if wanted > 0 {
		tried = wanted
	}
	if tried <= replicas {
		return nil, input("%s has %d replicas already: ask for more than that", target, replicas)
	}
	before, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.scale(ctx, target, tried); err != nil {
		return nil, err
	}
	if err := f.settle(ctx, nil); err != nil {
		return nil, fmt.Errorf("letting the fork settle: %w", err)
	}
	after, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	fit := &Fit{Target: *target, Replicas: replicas, Wanted: wanted, Loaded: f.Loaded()}
	return fit, f.count(ctx, fit, tried-replicas, before, after)
}

// count fills in what became of the replicas that were tried.
func (f *Fork) count(ctx context.Context, fit *Fit, tried int, before, after *state) error {
	mine, err := f.members(ctx, &fit.Target)
	if err != nil {
		return err
	}
	gone, came := differences(before.pods, after.pods)
	on := map[string]int{}
	var next *corev1.Pod
	for _, pod := range came {
		switch {
		case !mine[ownerOf(pod)]:
		case pod.Spec.NodeName == "":
			if next == nil {
				next = pod
			}
		default:
			fit.More++
			on[pod.Spec.NodeName]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		fit.On = append(fit.On, NodeCount{name, on[name]})
	}
	for _, pod := range gone {
		fit.Displaced = append(fit.Displaced, placedOf(pod, after.preempted[pod.UID]))
	}
	if fit.More >= tried {
		fit.AtLeast = fit.Wanted == 0
		return nil
	}
	if next == nil {
		fit.Stops, err = f.whyNotMade(ctx, &fit.Target)
		return err
	}
	fit.Stops = whyPending(next)
	fit.Nodes, err = f.against(ctx, next, after)
	return err
}

// members are the UIDs of a workload and of what it controls, which own its pods.
func (f *Fork) members(ctx context.Context, t *Target) (map[types.UID]bool, error) {
	client, err := f.resource(t)
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", t, err)
	}
	sets, err := f.client.AppsV1().ReplicaSets(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets of %s: %w", t, err)
	}
	mine := map[types.UID]bool{object.GetUID(): true}
	for i := range sets.Items {
		if owner := metav1.GetControllerOf(&sets.Items[i]); owner != nil && owner.UID == object.GetUID() {
			mine[sets.Items[i].UID] = true
		}
	}
	return mine, nil
}

// whyNotMade is why a workload has fewer pods than it is to have, as a quota may be.
func (f *Fork) whyNotMade(ctx context.Context, t *Target) (string, error) {
	client, err := f.resource(t)
	if err != nil {
		return "", err
	}
	object, err := client.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", t, err)
	}
	report := reasons.Of(&reasons.Subject{Object: object})
	if len(report.Reasons) == 0 {
		return "its controller makes no more pods", nil
	}
	return report.Reasons[0].String(), nil
}

// against asks the scheduler's rules what is against each node.
func (f *Fork) against(ctx context.Context, pod *corev1.Pod, s *state) ([]NodeReasons, error) {
	namespaces, err := f.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	labelsOf := map[string]labels.Set{}
	for i := range namespaces.Items {
		labelsOf[namespaces.Items[i].Name] = namespaces.Items[i].Labels
	}
	nodes := make([]*corev1.Node, len(s.nodes))
	for i := range s.nodes {
		nodes[i] = &s.nodes[i]
	}
	var pods []*corev1.Pod
	for i := range s.pods {
		if !ended(&s.pods[i]) {
			pods = append(pods, &s.pods[i])
		}
	}
	snapshot := framework.SnapshotOf(nodes, pods)
	decision := plugins.Decide(plugins.Input{
		Pod: framework.NewPodInfo(pod), Snapshot: snapshot,
		Namespaces: func() map[string]labels.Set { return labelsOf }, Pick: func(int) int { return 0 },
	})
	if decision.Diagnosis == nil {
		return nil, nil
	}
	var all []NodeReasons
	for _, n := range decision.Diagnosis.Against(snapshot) {
		all = append(all, NodeReasons{n.Node, n.Reasons})
	}
	return all, nil
}
