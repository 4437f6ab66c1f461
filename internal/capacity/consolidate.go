package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/drain"
)

// Kept is a node that a consolidation does not remove.
type Kept struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// consolidator finds out which nodes can go. It tries the emptiest node first, by the larger share of its CPU
// and memory that pods request which a drain would evict. A node goes if all of these pods find room on the
// nodes that stay, in the order of their priority. What does not fit once does not fit later either, when
// fewer nodes are left, so each node is tried once.
type consolidator struct {
	fork    *Fork
	state   *state
	sim     *controllers.SchedulingSimulation
	budgets []policyv1.PodDisruptionBudget
	// pods are the present pods of each node, those that were moved included.
	pods map[string][]*corev1.Pod
}

// consolidate returns the nodes among the candidates that can go, in the order in which to drain them, and why
// the others stay.
func (f *Fork) consolidate(ctx context.Context, candidates []string) (going []string, kept []Kept, err error) {
	c := &consolidator{fork: f, pods: map[string][]*corev1.Pod{}}
	if c.state, err = f.state(ctx); err != nil {
		return nil, nil, err
	}
	budgets, err := f.client.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	c.budgets = budgets.Items
	if c.sim, err = f.simulate(ctx); err != nil {
		return nil, nil, err
	}
	defer c.sim.Close()
	for i := range c.state.pods {
		if pod := &c.state.pods[i]; pod.Spec.NodeName != "" && !ended(pod) {
			c.pods[pod.Spec.NodeName] = append(c.pods[pod.Spec.NodeName], pod)
		}
	}
	var left []*corev1.Node
	for i := range c.state.nodes {
		node := &c.state.nodes[i]
		if len(candidates) > 0 && !slices.Contains(candidates, node.Name) {
			continue
		}
		why, err := c.blocks(ctx, node)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			kept = append(kept, Kept{node.Name, why})
			continue
		}
		left = append(left, node)
	}
	for len(left) > 0 {
		at := c.emptiest(left)
		node := left[at]
		left = slices.Delete(left, at, at+1)
		if why := c.empty(node); why != "" {
			kept = append(kept, Kept{node.Name, why})
			continue
		}
		going = append(going, node.Name)
	}
	slices.SortFunc(kept, func(a, b Kept) int { return strings.Compare(a.Node, b.Node) })
	return going, kept, nil
}

// simulate returns a simulation of the fork's scheduler at this moment.
func (f *Fork) simulate(ctx context.Context) (*controllers.SchedulingSimulation, error) {
	sim, err := controllers.SimulateScheduling(ctx, f.client, f.cluster.Clock(), f.scheduler)
	if err != nil {
		return nil, fmt.Errorf("simulating the scheduler: %w", err)
	}
	return sim, nil
}

// The annotations and labels by which nodes and pods state that they must stay.
var staying = []struct{ key, value string }{
	{"karpenter.sh/do-not-disrupt", "true"},
	{"karpenter.sh/do-not-evict", "true"},
	{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
	{"cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"},
}

func stays(annotations map[string]string) string {
	for _, s := range staying {
		if annotations[s.key] == s.value {
			return s.key + ": " + s.value
		}
	}
	return ""
}

// blocks returns why a node has to stay wherever its pods would fit; empty: nothing says so.
func (c *consolidator) blocks(ctx context.Context, node *corev1.Node) (string, error) {
	if why := stays(node.Annotations); why != "" {
		return "it is annotated " + why, nil
	}
	for _, role := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"} {
		if _, is := node.Labels[role]; is {
			return "it is a node of the control plane", nil
		}
	}
	if !nodeReady(node) {
		return "it is not Ready: its pods cannot end", nil
	}
	pods := make([]corev1.Pod, len(c.pods[node.Name]))
	for i, pod := range c.pods[node.Name] {
		pods[i] = *pod
	}
	selection, err := drain.Select(pods, c.fork.opts.Drain, drain.DaemonSets(ctx, c.fork.client))
	if err != nil {
		return "", fmt.Errorf("selecting the pods of node %s: %w", node.Name, err)
	}
	if err := selection.Err(); err != nil {
		return err.Error(), nil
	}
	for i := range selection.Evict {
		pod := &selection.Evict[i]
		if why := stays(pod.Annotations); why != "" {
			return fmt.Sprintf("pod %s is annotated %s", nameOf(pod), why), nil
		}
		if budget := c.exhausted(pod); budget != "" {
			return fmt.Sprintf("the disruption budget %s allows no eviction of pod %s", budget, nameOf(pod)), nil
		}
	}
	return "", nil
}

// exhausted returns the name of the budget that allows no eviction of a healthy pod; empty: none. The fork
// has settled, so that no budget allows more later.
func (c *consolidator) exhausted(pod *corev1.Pod) string {
	if !isReady(pod) {
		return "" // the eviction decides
	}
	for i := range c.budgets {
		b := &c.budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && b.Namespace == pod.Namespace && b.Status.DisruptionsAllowed == 0 && selector.Matches(labels.Set(pod.Labels)) {
			return b.Name
		}
	}
	return ""
}

// movable reports whether a drain evicts a pod.
func movable(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return (owner == nil || owner.Kind != "DaemonSet") && pod.Annotations[corev1.MirrorPodAnnotationKey] == ""
}

// emptiest returns the index of the node whose movable pods request the smallest share of it, or the first
// of these by name.
func (c *consolidator) emptiest(nodes []*corev1.Node) int {
	best := 0
	for i := range nodes {
		if cmp.Or(cmp.Compare(c.share(nodes[i]), c.share(nodes[best])), strings.Compare(nodes[i].Name, nodes[best].Name)) < 0 {
			best = i
		}
	}
	return best
}

// share returns the larger share of the CPU and the memory of a node that its movable pods request.
func (c *consolidator) share(node *corev1.Node) float64 {
	used := amounts{}
	for _, pod := range c.pods[node.Name] {
		if movable(pod) {
			used.add(requestsOf(pod))
		}
	}
	share := 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		has, wants := node.Status.Allocatable[name], used[name]
		if all := has.AsApproximateFloat64(); all > 0 {
			share = max(share, wants.AsApproximateFloat64()/all)
		}
	}
	return share
}

// empty moves the pods of a node to others in the simulation. If one finds no room, it undoes that and
// returns why.
func (c *consolidator) empty(node *corev1.Node) (why string) {
	here := c.pods[node.Name]
	var moving []*corev1.Pod
	for _, pod := range here {
		c.sim.RemovePod(pod)
		if movable(pod) {
			moving = append(moving, pod)
		}
	}
	c.sim.RemoveNode(node)
	slices.SortStableFunc(moving, func(a, b *corev1.Pod) int { return cmp.Compare(priority(b), priority(a)) })
	var placed []*corev1.Pod
	for _, pod := range moving {
		next, err := c.sim.Place(pod)
		if err != nil {
			for _, pod := range placed {
				c.sim.RemovePod(pod)
			}
			c.sim.AddNode(node)
			for _, pod := range here {
				c.sim.AddPod(pod)
			}
			return fmt.Sprintf("pod %s finds no room: %v", nameOf(pod), err)
		}
		placed = append(placed, next)
	}
	delete(c.pods, node.Name)
	for _, pod := range placed {
		c.pods[pod.Spec.NodeName] = append(c.pods[pod.Spec.NodeName], pod)
	}
	return ""
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// consolidation drains and deletes the nodes that can go, one after the other.
type consolidation struct {
	fork    *Fork
	drain   *draining
	kept    []Kept
	going   []string
	removed int
}

// beginConsolidation finds out which of the candidates can go, and cordons them.
func (f *Fork) beginConsolidation(ctx context.Context, candidates []string) (*consolidation, error) {
	going, kept, err := f.consolidate(ctx, candidates)
	if err != nil {
		return nil, err
	}
	if err := f.cordon(ctx, going); err != nil {
		return nil, err
	}
	return &consolidation{fork: f, drain: f.drain(going), kept: kept, going: going}, nil
}

func (c *consolidation) step(ctx context.Context, now time.Time) (done bool, err error) {
	done, err = c.drain.step(ctx, now)
	if err != nil {
		return false, err
	}
	for c.removed < len(c.going) && c.drain.results[c.removed].Done {
		if err := c.fork.remove(ctx, []string{c.going[c.removed]}); err != nil {
			return false, err
		}
		c.removed++
	}
	return done, nil
}

func (c *consolidation) next(now time.Time) time.Time { return c.drain.next(now) }

func (c *consolidation) report(r *Report) {
	c.drain.report(r)
	r.Removable, r.Kept = c.going, c.kept
}
