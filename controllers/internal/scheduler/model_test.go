package scheduler

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/cache"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// world drives the known and the decisions as the scheduler does, and checks the invariants after
// each step.
type world struct {
	cache     *cache.Cache
	nominator *queue.Nominator
	random    *clock.Random
	start     int
	snap      *framework.Snapshot

	nodes   map[string]*corev1.Node
	pending map[types.UID]*framework.PodInfo
	placed  map[types.UID]*corev1.Pod // with spec.nodeName; assumed ones too
	assumed map[types.UID]bool
	created int
	log     []string
}

func newWorld(seed uint64) *world {
	return &world{
		cache: cache.New(), nominator: queue.NewNominator(), random: clock.NewRandom(seed),
		nodes: map[string]*corev1.Node{}, pending: map[types.UID]*framework.PodInfo{}, placed: map[types.UID]*corev1.Pod{}, assumed: map[types.UID]bool{},
	}
}

func (w *world) decide(uid types.UID) {
	p := w.pending[uid]
	w.snap = w.cache.UpdateSnapshot(w.snap)
	in := plugins.Input{Pod: p, Snapshot: w.snap, Start: w.start, Nominated: w.nominator.ByNode(), Pick: w.random.IntN}
	d := plugins.Decide(in)
	w.start = d.Next
	w.log = append(w.log, fmt.Sprintf("%s to %q", uid, d.Node))
	if d.Node != "" {
		delete(w.pending, uid)
		w.cache.AssumePod(p, d.Node)
		w.nominator.Remove(uid)
		pod := p.Pod.DeepCopy()
		pod.Spec.NodeName = d.Node
		w.placed[uid], w.assumed[uid] = pod, true
		if why := w.broken(pod); why != "" {
			panic(fmt.Sprintf("%s is on %s: %s", pod.Name, d.Node, why))
		}
		return
	}
	if d.Diagnosis.Message() == "" {
		panic("no reason")
	}
	if len(w.nodes) == 0 {
		return
	}
	pre := plugins.Preempt(in, d.Diagnosis)
	w.log = append(w.log, fmt.Sprintf("%s frees %q of %d", uid, pre.Node, len(pre.Victims)))
	w.nominator.Set(p, pre.Node)
	for _, v := range pre.Victims {
		if v.Priority >= p.Priority {
			panic("a victim is not less important")
		}
		w.remove(v.Pod.UID)
	}
	if pre.Node != "" {
		// The room that was made is enough, and no pod of lower priority takes it.
		w.snap = w.cache.UpdateSnapshot(w.snap)
		in.Snapshot, in.Prefer = w.snap, pre.Node
		if got := plugins.Decide(in).Node; got != pre.Node {
			panic(fmt.Sprintf("after preemption on %s the pod goes to %q", pre.Node, got))
		}
	}
}

func (w *world) remove(uid types.UID) {
	w.cache.RemovePod(uid)
	w.nominator.Remove(uid)
	delete(w.placed, uid)
	delete(w.assumed, uid)
	delete(w.pending, uid)
}

func (w *world) check(t *rapid.T) {
	snap := w.cache.UpdateSnapshot(w.snap)
	w.snap = snap
	w.checkCounts(t, snap)
	if snap.Len() != len(w.nodes) {
		t.Fatalf("the snapshot has %d nodes, the world %d", snap.Len(), len(w.nodes))
	}
	for name, node := range w.nodes {
		fresh := framework.NewNodeInfo(node)
		var ports []framework.HostPort
		for _, pod := range w.placed {
			if pod.Spec.NodeName != name {
				continue
			}
			p := framework.NewPodInfo(pod)
			if framework.AnyConflict(p.Ports, ports) {
				t.Fatalf("two pods on %s have the same host port", name)
			}
			ports = append(ports, p.Ports...)
			fresh = fresh.With(p)
		}
		got := snap.Get(name)
		if !got.Requested.Equal(fresh.Requested) || len(got.Pods) != len(fresh.Pods) || len(got.UsedPorts) != len(fresh.UsedPorts) ||
			got.ScoredCPU != fresh.ScoredCPU || got.ScoredMemory != fresh.ScoredMemory {
			t.Fatalf("%s is believed to have %+v with %d pods, has %+v with %d", name, got.Requested, len(got.Pods), fresh.Requested, len(fresh.Pods))
		}
		if fresh.Requested.MilliCPU > fresh.Allocatable.MilliCPU || fresh.Requested.Memory > fresh.Allocatable.Memory ||
			fresh.Requested.Scalar["example.com/a"] > fresh.Allocatable.Scalar["example.com/a"] || int64(len(fresh.Pods)) > fresh.AllowedPods {
			t.Fatalf("%s is overcommitted: %+v of %+v, %d pods", name, fresh.Requested, fresh.Allocatable, len(fresh.Pods))
		}
	}
}

func drawPod(t *rapid.T, w *world) *corev1.Pod {
	w.created++
	p := st.Pod(fmt.Sprintf("p%d", w.created),
		st.Requests("cpu", fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "cpu")), "memory", fmt.Sprintf("%dGi", rapid.IntRange(0, 9).Draw(t, "memory"))),
		st.Priority(rapid.Int32Range(-1, 3).Draw(t, "priority")))
	if rapid.IntRange(0, 3).Draw(t, "port") == 0 {
		st.HostPort(rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2"}).Draw(t, "address"), 80)(p)
	}
	if rapid.IntRange(0, 3).Draw(t, "scalar") == 0 {
		p.Spec.Containers[0].Resources.Requests["example.com/a"] = st.Quantities("x", "1")["x"]
	}
	if rapid.IntRange(0, 3).Draw(t, "selects") == 0 {
		st.NodeSelector("disk", "ssd")(p)
	}
	drawRules(t, p)
	return p
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	n := st.Node(name, st.Allocatable("pods", fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "pods")), "example.com/a", "1"))
	if rapid.Bool().Draw(t, "ssd") {
		st.NodeLabel("disk", "ssd")(n)
	}
	if rapid.Bool().Draw(t, "zone") {
		st.NodeLabel(corev1.LabelTopologyZone, "z")(n)
	}
	return n
}

func uids[V any](m map[types.UID]V) []types.UID {
	keys := make([]types.UID, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// step does one thing at random.
func (w *world) step(t *rapid.T) {
	switch rapid.SampledFrom([]string{"pod", "pod", "decide", "decide", "decide", "confirm", "unbind", "remove", "node", "relabel", "relabel pod", "lose"}).Draw(t, "what") {
	case "pod":
		p := drawPod(t, w)
		w.pending[p.UID] = framework.NewPodInfo(p)
	case "decide":
		if len(w.pending) > 0 {
			w.decide(rapid.SampledFrom(uids(w.pending)).Draw(t, "pending"))
		}
	case "confirm":
		if len(w.assumed) > 0 {
			uid := rapid.SampledFrom(uids(w.assumed)).Draw(t, "assumed")
			w.cache.SetPod(w.placed[uid])
			delete(w.assumed, uid)
		}
	case "unbind":
		if len(w.assumed) > 0 {
			uid := rapid.SampledFrom(uids(w.assumed)).Draw(t, "assumed")
			if w.cache.ForgetPod(uid).Node != w.placed[uid].Spec.NodeName {
				t.Fatal("forgot another node")
			}
			pod := w.placed[uid].DeepCopy()
			pod.Spec.NodeName = ""
			delete(w.placed, uid)
			delete(w.assumed, uid)
			w.pending[uid] = framework.NewPodInfo(pod)
		}
	case "remove":
		if len(w.placed) > 0 {
			w.remove(rapid.SampledFrom(uids(w.placed)).Draw(t, "placed"))
		}
	case "node":
		n := drawNode(t, fmt.Sprintf("n%d", len(w.nodes)))
		w.nodes[n.Name] = n
		w.cache.SetNode(n)
	case "relabel":
		if len(w.nodes) > 0 {
			n := w.nodes[fmt.Sprintf("n%d", len(w.nodes)-1)].DeepCopy()
			n.Spec.Unschedulable = rapid.Bool().Draw(t, "cordon")
			n.Labels["disk"] = rapid.SampledFrom([]string{"ssd", "hdd"}).Draw(t, "disk")
			w.nodes[n.Name] = n
			w.cache.SetNode(n)
		}
	case "relabel pod":
		w.relabel(t)
	case "lose":
		if len(w.nodes) > 0 {
			name := fmt.Sprintf("n%d", len(w.nodes)-1)
			delete(w.nodes, name)
			w.cache.RemoveNode(name)
			for _, uid := range uids(w.placed) {
				if w.placed[uid].Spec.NodeName == name {
					w.remove(uid)
				}
			}
		}
	}
}

// Whatever comes and goes, no node is given more than it has, no host port twice, and incremental
// sums equal sums from scratch.
func TestNeverOvercommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
			w.check(t)
		}
	})
}

// Equal seeds and equal events give equal decisions.
func TestDeterministic(t *testing.T) {
	run := func(seed uint64) []string {
		w := newWorld(seed)
		for i, n := range st.Nodes(20) {
			n.Status.Allocatable = st.Quantities("cpu", fmt.Sprint(1+i%4), "memory", "8Gi", "pods", "10")
			w.nodes[n.Name] = n
			w.cache.SetNode(n)
		}
		for i := range 200 {
			p := st.Pod(fmt.Sprintf("p%d", i), st.Requests("cpu", fmt.Sprintf("%dm", 100+i%7*100)), st.Priority(int32(i%3)))
			w.pending[p.UID] = framework.NewPodInfo(p)
			w.decide(p.UID)
		}
		return w.log
	}
	if !slices.Equal(run(7), run(7)) {
		t.Error("the same seed gave other decisions")
	}
	if slices.Equal(run(7), run(8)) {
		t.Error("another seed gave the same decisions")
	}
}
