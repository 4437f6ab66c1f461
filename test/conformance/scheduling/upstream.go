package scheduling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// errReadOnly is the answer to writes of upstream's scheduler.
var errReadOnly = errors.New("the cluster is read-only")

// decision is a decision of upstream's scheduler on a pod.
type decision struct {
	Pod *corev1.Pod `json:"pod"`
	// Feasible are the nodes that passed the filters, sorted, and Against the plugins and reasons against the
	// others that were tried.
	Feasible []string          `json:"feasible,omitempty"`
	Against  map[string]string `json:"against,omitempty"`
	// Message is the message of the event FailedScheduling; empty: nodes are feasible. Its part about
	// preemption does not name the node to free.
	Message string `json:"message,omitempty"`
	// Candidates are the nodes that preemption can free, with its victims, sorted.
	Candidates []candidate `json:"candidates,omitempty"`
	// Error is an error that ends the decision.
	Error string `json:"error,omitempty"`
	// Scores has the weighted scores of each plugin, in the order of Feasible, if there is a choice. Plugins
	// that give all nodes 0 are left out.
	Scores map[string][]int64 `json:"scores,omitempty"`
}

// candidate is a node that preemption can free.
type candidate struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
	// Violations is the number of victims whose deletion violates a PodDisruptionBudget.
	Violations int64 `json:"violations,omitempty"`
	// Best is set if no other candidate is better.
	Best bool `json:"best,omitempty"`
}

// upstream is upstream's scheduler with its default features. It does not run: it only decides.
type upstream struct {
	*scheduler.Scheduler
	framework framework.Framework
	snapshot  *internalcache.Snapshot
	preempter *defaultpreemption.DefaultPreemption
}

// start makes the scheduler for a cluster, with informers that show its objects. stop ends the informers.
func start(ctx context.Context, c *cluster) (u *upstream, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	objects := slices.Clone(c.objects)
	for _, p := range c.pending {
		objects = append(objects, p)
	}
	client := fake.NewClientset(objects...)
	// Preemption evicts pods in the background. All decisions are about the same state.
	for _, verb := range []string{"delete", "patch", "update"} {
		client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errReadOnly })
	}
	// Claims are deallocated and deleted by the way, which must not change the next decision.
	client.PrependReactor("update", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.UpdateAction).GetObject(), nil
	})
	client.PrependReactor("delete", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	factory := informers.NewSharedInformerFactory(client, 0)
	stop = func() {
		cancel()
		factory.Shutdown()
	}
	u = &upstream{snapshot: c.snapshot()}
	options := []scheduler.Option{scheduler.WithNodeInfoSnapshot(u.snapshot)}
	if c.config != nil {
		decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode(c.config, nil, nil)
		if err != nil {
			return nil, stop, err
		}
		options = append(options, scheduler.WithProfiles(decoded.(*config.KubeSchedulerConfiguration).Profiles...))
	}
	recorders := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	if u.Scheduler, err = scheduler.New(ctx, client, factory, nil, recorders, options...); err != nil {
		return nil, stop, err
	}
	u.framework = u.Profiles[corev1.DefaultSchedulerName]
	args := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}
	if u.preempter, err = defaultpreemption.New(ctx, args, u.framework, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)); err != nil {
		return nil, stop, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return u, stop, u.WaitForHandlersSync(ctx)
}

func (c *cluster) snapshot() *internalcache.Snapshot {
	var pods []*corev1.Pod
	var nodes []*corev1.Node
	for _, o := range c.objects {
		switch o := o.(type) {
		case *corev1.Node:
			nodes = append(nodes, o)
		case *corev1.Pod:
			if o.Spec.NodeName != "" {
				pods = append(pods, o)
			}
		}
	}
	return internalcache.NewSnapshot(pods, nodes)
}

// decide decides on a pod.
func (u *upstream) decide(ctx context.Context, pod *corev1.Pod) (decision, error) {
	d := decision{Pod: pod, Against: map[string]string{}}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return d, err
	}
	state := framework.NewCycleState()
	_, err = u.SchedulePod(ctx, u.framework, state, &framework.QueuedPodInfo{PodInfo: info})
	var unfit *framework.FitError
	switch {
	case errors.As(err, &unfit):
		if err := u.preempt(ctx, state, &d, unfit); err != nil {
			return d, err
		}
	case err != nil:
		d.Error = err.Error()
		return d, nil
	}
	state = framework.NewCycleState()
	only, status, _ := u.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return d, nil
	}
	all, err := u.snapshot.NodeInfos().List()
	if err != nil {
		return d, err
	}
	slices.SortFunc(all, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	// A node that is freed for the pod is tried first. If it is feasible, no other is tried.
	first := slices.IndexFunc(all, func(n fwk.NodeInfo) bool { return n.Node().Name == pod.Status.NominatedNodeName })
	if first >= 0 && u.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, all[first]).IsSuccess() {
		d.Feasible = []string{all[first].Node().Name}
		return d, nil
	}
	var feasible []fwk.NodeInfo
	for _, n := range all {
		if !only.AllNodes() && !only.NodeNames.Has(n.Node().Name) {
			continue
		}
		status := u.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, n)
		if status.IsSuccess() {
			feasible = append(feasible, n)
			d.Feasible = append(d.Feasible, n.Node().Name)
			continue
		}
		reasons := slices.Sorted(slices.Values(status.Reasons()))
		d.Against[n.Node().Name] = status.Plugin() + ": " + strings.Join(reasons, ", ")
	}
	if (len(feasible) == 0) != (d.Message != "") {
		return d, fmt.Errorf("pod %s: nodes %v are feasible, but the message is %q", pod.Name, d.Feasible, d.Message)
	}
	if len(feasible) > 1 {
		d.Scores, err = u.scores(ctx, state, pod, feasible)
	}
	return d, err
}

// scores returns the scores of each plugin, in the order of the nodes.
func (u *upstream) scores(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo) (map[string][]int64, error) {
	if status := u.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	all, status := u.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores := map[string][]int64{}
	for _, node := range all { // in the order of feasible
		for _, of := range node.Scores {
			scores[of.Name] = append(scores[of.Name], of.Score)
		}
	}
	maps.DeleteFunc(scores, func(_ string, of []int64) bool { return slices.Max(of) == 0 })
	return scores, nil
}
