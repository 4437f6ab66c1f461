package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/kubeletsim"
)

// Cluster Autoscaler's defaults: the time between two looks at pending pods, and the priority below which a
// pod is not worth a node.
const (
	scanInterval       = 10 * time.Second
	expendablePriority = -10
)

// autoscaler adds nodes for pods that fit nowhere, by the rules of Cluster Autoscaler: at each scan, it packs
// the pods that do not fit on the nodes to come either into new nodes of each group, the largest pod first,
// and enlarges the group that the expander chooses by the nodes that the packing takes.
type autoscaler struct {
	fork   *Fork
	groups *NodeGroups
	random *clock.Random
	due    time.Time
	begun  time.Time
	// coming are the nodes that were added and are not Ready yet.
	coming map[string]bool
	added  []Added
	// stuck is why each group helped no pod at the last scan, by group.
	stuck map[string]string
}

// Added are nodes that an autoscaler adds.
type Added struct {
	Group string   `json:"group"`
	Nodes []string `json:"nodes"`
	// Pods is the number of pending pods for which they are added, After seconds.
	Pods  int     `json:"pods"`
	After float64 `json:"afterSeconds"`
}

func (f *Fork) autoscaler() *autoscaler {
	now := f.cluster.Clock().Now()
	return &autoscaler{fork: f, groups: f.opts.NodeGroups, random: clock.NewRandom(f.opts.Seed), due: now, begun: now, coming: map[string]bool{}}
}

func (a *autoscaler) next(time.Time) time.Time { return a.due }

// awaits reports whether nodes are still to be Ready.
func (a *autoscaler) awaits() bool { return len(a.coming) > 0 }

func (a *autoscaler) step(ctx context.Context, now time.Time) (done bool, err error) {
	if now.Before(a.due) {
		return false, nil
	}
	a.due = now.Add(scanInterval)
	state, err := a.fork.state(ctx)
	if err != nil {
		return false, err
	}
	for i := range state.nodes {
		if n := &state.nodes[i]; nodeReady(n) && !isFresh(n) {
			delete(a.coming, n.Name)
		}
	}
	pods := unschedulable(state.pods)
	if len(pods) == 0 {
		return false, nil
	}
	sim, err := a.fork.simulate(ctx)
	if err != nil {
		return false, err
	}
	defer sim.Close()
	return false, a.scaleUp(ctx, &scaleUp{sim: sim, state: state}, pods, now)
}

// unschedulable returns the pods that wait for room.
func unschedulable(all []corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range all {
		pod := &all[i]
		if pod.Spec.NodeName == "" && pending(pod) && unscheduled(pod) != "" && pod.Status.NominatedNodeName == "" && priority(pod) >= expendablePriority {
			pods = append(pods, pod)
		}
	}
	return pods
}

// isFresh reports whether a node has a taint of a node that starts.
func isFresh(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, startTaint)
}

func startTaint(t corev1.Taint) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeNetworkUnavailable
}

// scaleUp is one scan.
type scaleUp struct {
	sim     *controllers.SchedulingSimulation
	state   *state
	daemons []appsv1.DaemonSet
}

// option is a possible enlargement of a node group: the nodes to add and the number of pending pods
// that they take.
type option struct {
	group *NodeGroup
	specs []minikcm.NodeSpec
	pods  int
	// waste is the idle share of CPU and memory of the new nodes.
	waste float64
}

func (a *autoscaler) scaleUp(ctx context.Context, s *scaleUp, pods []*corev1.Pod, now time.Time) error {
	daemons, err := a.fork.client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing DaemonSets: %w", err)
	}
	s.daemons = daemons.Items
	for i := range s.state.nodes {
		if n := &s.state.nodes[i]; a.coming[n.Name] {
			s.sim.RemoveNode(n)
			s.addNode(usable(n))
		}
	}
	pods = s.place(pods) // those that fit on the nodes to come
	if len(pods) == 0 {
		return nil
	}
	var options []option
	a.stuck = map[string]string{}
	for i := range a.groups.Groups {
		o, why, err := a.estimate(s, &a.groups.Groups[i], pods)
		switch {
		case err != nil:
			return err
		case why != "":
			a.stuck[a.groups.Groups[i].Name] = why
		default:
			options = append(options, o)
		}
	}
	if len(options) == 0 {
		return nil
	}
	return a.enlarge(ctx, a.choose(options), s.state, now)
}

// usable returns a node as it is once it is Ready.
func usable(n *corev1.Node) *corev1.Node {
	n = n.DeepCopy()
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, startTaint)
	return n
}

// place puts pods on nodes of the simulation, and returns the pods that no node fits.
func (s *scaleUp) place(pods []*corev1.Pod) (left []*corev1.Pod) {
	for _, pod := range pods {
		if _, err := s.sim.Place(pod); err != nil {
			left = append(left, pod)
		}
	}
	return left
}

// addNode adds a node with the pods that DaemonSets have on it.
func (s *scaleUp) addNode(n *corev1.Node) (daemons []*corev1.Pod) {
	s.sim.AddNode(n)
	for i := range s.daemons {
		if pod, err := s.sim.Place(daemonOn(&s.daemons[i], n.Name)); err == nil {
			daemons = append(daemons, pod)
		}
	}
	return daemons
}

// daemonOn returns the pod of a DaemonSet on a node.
func daemonOn(d *appsv1.DaemonSet, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-" + node, UID: types.UID(string(d.UID) + "/" + node), Labels: d.Spec.Template.Labels},
		Spec:       *d.Spec.Template.Spec.DeepCopy(),
	}
	on := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil || len((*required).NodeSelectorTerms) == 0 {
		*required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range (*required).NodeSelectorTerms {
		(*required).NodeSelectorTerms[i].MatchFields = []corev1.NodeSelectorRequirement{on}
	}
	return pod
}

// estimate packs pods into new nodes of a group. why is the reason why the group helps none of them.
func (a *autoscaler) estimate(s *scaleUp, g *NodeGroup, pods []*corev1.Pod) (o option, why string, err error) {
	size := 0
	for i := range s.state.nodes {
		if g.holds(&s.state.nodes[i]) {
			size++
		}
	}
	if size >= g.Max {
		return o, fmt.Sprintf("it has its maximum of %d nodes", g.Max), nil
	}
	o.group = g
	var undo []func()
	defer func() {
		for _, u := range slices.Backward(undo) {
			u()
		}
	}()
	var used, has amounts = amounts{}, amounts{}
	left := slices.Clone(pods)
	for len(left) > 0 && size+len(o.specs) < g.Max {
		spec, err := g.template(size+len(o.specs), s.state.nodes)
		if err != nil {
			return o, "", err
		}
		node := kubeletsim.NodeFor(fmt.Sprintf("%s-template-%d", g.Name, len(o.specs)), &spec)
		complete(node)
		if len(o.specs) == 0 {
			largestFirst(left, node)
		}
		for _, pod := range s.addNode(node) {
			undo = append(undo, func() { s.sim.RemovePod(pod) })
		}
		undo = slices.Insert(undo, 0, func() { s.sim.RemoveNode(node) })
		var rest []*corev1.Pod
		for _, pod := range left {
			placed, err := s.sim.Place(pod)
			if err != nil {
				rest, why = append(rest, pod), err.Error()
				continue
			}
			undo = append(undo, func() { s.sim.RemovePod(placed) })
			used.add(requestsOf(pod))
		}
		if len(rest) == len(left) {
			break
		}
		o.specs, left = append(o.specs, spec), rest
		has.add(node.Status.Allocatable)
	}
	o.pods = len(pods) - len(left)
	if o.pods == 0 {
		return o, why, nil
	}
	o.waste = waste(used, has)
	return o, "", nil
}

// complete fills in the fields that the kubelet of a node adds.
func complete(n *corev1.Node) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = n.Name
	if len(n.Status.Allocatable) == 0 {
		n.Status.Allocatable = n.Status.Capacity
	}
}

// largestFirst sorts pods by the sum of the shares of CPU and memory that they request of a node.
func largestFirst(pods []*corev1.Pod, n *corev1.Node) {
	score := func(pod *corev1.Pod) float64 {
		requests, sum := requestsOf(pod), 0.0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			wants, has := requests[name], n.Status.Allocatable[name]
			if all := has.AsApproximateFloat64(); all > 0 {
				sum += wants.AsApproximateFloat64() / all
			}
		}
		return sum
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Or(cmp.Compare(score(b), score(a)), byName(a, b)) })
}

// waste returns the mean idle share of CPU and memory.
func waste(used, has amounts) float64 {
	sum := 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		wants, there := used[name], has[name]
		if all := there.AsApproximateFloat64(); all > 0 {
			sum += 1 - wants.AsApproximateFloat64()/all
		}
	}
	return sum / 2
}

// choose returns the option that the expander prefers, or the first one by name of several.
func (a *autoscaler) choose(options []option) *option {
	slices.SortFunc(options, func(x, y option) int { return strings.Compare(x.group.Name, y.group.Name) })
	var better func(x, y *option) int
	switch a.groups.Expander {
	case "most-pods":
		better = func(x, y *option) int { return cmp.Compare(y.pods, x.pods) }
	case "least-waste":
		better = func(x, y *option) int { return cmp.Compare(x.waste, y.waste) }
	case "price":
		better = func(x, y *option) int { return cmp.Compare(x.price(), y.price()) }
	case "priority":
		better = func(x, y *option) int { return cmp.Compare(y.group.Priority, x.group.Priority) }
	default:
		return &options[a.random.IntN(len(options))]
	}
	best := &options[0]
	for i := range options {
		if better(&options[i], best) < 0 {
			best = &options[i]
		}
	}
	return best
}

// price returns the price of the option's nodes per pod.
func (o *option) price() float64 { return o.group.Price * float64(len(o.specs)) / float64(o.pods) }

// enlarge adds the nodes of an option.
func (a *autoscaler) enlarge(ctx context.Context, o *option, state *state, now time.Time) error {
	taken := map[string]bool{}
	for i := range state.nodes {
		taken[state.nodes[i].Name] = true
	}
	added := Added{Group: o.group.Name, Pods: o.pods, After: seconds(now.Sub(a.begun))}
	number := 0
	for i := range o.specs {
		for taken[fmt.Sprintf("%s-%d", o.group.Name, number)] {
			number++
		}
		name := fmt.Sprintf("%s-%d", o.group.Name, number)
		taken[name] = true
		if err := a.fork.createNode(ctx, name, &o.specs[i]); err != nil {
			return err
		}
		a.coming[name] = true
		added.Nodes = append(added.Nodes, name)
	}
	a.added = append(a.added, added)
	return nil
}

func (a *autoscaler) report(r *Report) {
	r.Added = a.added
	for _, g := range a.groups.Groups {
		if why := a.stuck[g.Name]; why != "" {
			r.Helpless = append(r.Helpless, Helpless{g.Name, why})
		}
	}
}

// Helpless is a node group that helps none of the pending pods.
type Helpless struct {
	Group  string `json:"group"`
	Reason string `json:"reason"`
}
