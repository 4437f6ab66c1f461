package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/reasons"
)

// DefaultLimit is the default number of additional replicas to try at most.
const DefaultLimit = 1000

// Fit scales a workload up and counts the new replicas that the scheduler places. wanted is
// the total number of replicas to try; if it is 0, Fit tries limit additional replicas. Fit
// returns an InputError if the workload does not exist.
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
		return nil, input("%s already has %d replicas: ask for more than that", target, replicas)
	}
	before, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	for more := f.firstTry(tried - replicas); ; more = min(growth*more, tried-replicas) {
		fit := &Fit{Target: *target, Replicas: replicas, Wanted: wanted, Loaded: f.Loaded()}
		if err := f.try(ctx, fit, more, before); err != nil {
			return nil, err
		}
		if fit.More == more && more < tried-replicas {
			continue
		}
		fit.Target = target.shown()
		fit.judge(f.lacks(before, &Report{}))
		return fit, nil
	}
}

// Fit tries fewTried additional replicas first, and growth times as many while all of them fit. A replica
// without a node costs as much as one with a node, and mostly far fewer fit than the limit.
const (
	fewTried = 32
	growth   = 4
)

// firstTry returns how many of some additional replicas Fit tries first: all of them with node groups, whose
// autoscaler would choose other nodes for fewer pods.
func (f *Fork) firstTry(all int) int {
	if f.opts.NodeGroups != nil {
		return all
	}
	return min(fewTried, all)
}

// try scales the workload up to a number of additional replicas, and fills in the results.
func (f *Fork) try(ctx context.Context, fit *Fit, more int, before *state) error {
	if err := f.scale(ctx, &fit.Target, fit.Replicas+more); err != nil {
		return err
	}
	var activities []activity
	if f.opts.NodeGroups != nil {
		activities = append(activities, f.autoscaler())
	}
	settling := f.settling(activities)
	settling.now = true
	if _, err := settling.run(ctx); err != nil {
		return fmt.Errorf("letting the fork settle: %w", err)
	}
	after, err := f.state(ctx)
	if err != nil {
		return err
	}
	for _, a := range activities {
		if a, scales := a.(*autoscaler); scales {
			fit.Added = a.added
		}
	}
	return f.count(ctx, fit, more, before, after)
}

// judge sets the verdict. lacks describes things that the answer depends on and the fork does not
// have.
func (f *Fit) judge(lacks []string) {
	switch {
	case len(lacks) > 0:
		f.Verdict, f.Uncertain = Uncertain, lacks
	case f.Fits():
		f.Verdict = Fits
	default:
		f.Verdict = DoesNotFit
	}
}

// count fills in the results for the replicas that were tried.
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
	for _, pod := range came {
		if !mine[ownerOf(pod)] && pod.Spec.NodeName == "" && pending(pod) {
			fit.Homeless++
		}
	}
	if fit.More >= tried {
		fit.AtLeast = fit.Wanted == 0
		return nil
	}
	if next == nil {
		fit.Stops, err = f.whyNotMade(ctx, &fit.Target)
		return err
	}
	fit.Stops = whyPending(next, f.watch.warning(next.UID))
	fit.Nodes, err = f.against(ctx, next)
	return err
}

// members returns the UIDs of a workload and of the ReplicaSets that it controls, which own
// its pods.
func (f *Fork) members(ctx context.Context, t *Target) (map[types.UID]bool, error) {
	client, err := f.resource(t)
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting %s: %w", t, err)
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

// whyNotMade returns the reason why a workload has fewer pods than its spec asks for, such as
// a quota.
func (f *Fork) whyNotMade(ctx context.Context, t *Target) (string, error) {
	client, err := f.resource(t)
	if err != nil {
		return "", err
	}
	object, err := client.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("getting %s: %w", t, err)
	}
	report := reasons.Of(&reasons.Subject{Object: object})
	if len(report.Reasons) == 0 {
		return "its controller creates no more pods", nil
	}
	return report.Reasons[0].String(), nil
}

// against evaluates the scheduler's rules for a pod and returns why each node is rejected.
func (f *Fork) against(ctx context.Context, pod *corev1.Pod) ([]NodeReasons, error) {
	sim, err := f.simulate(ctx)
	if err != nil {
		return nil, err
	}
	defer sim.Close()
	found, err := sim.Against(pod)
	if err != nil {
		return nil, fmt.Errorf("evaluating the scheduler's rules for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	var all []NodeReasons
	for _, n := range found {
		all = append(all, NodeReasons{n.Node, n.Reasons})
	}
	return all, nil
}
