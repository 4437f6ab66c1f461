package scheduler

import (
	"fmt"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// drawRules gives a pod a label, and maybe constraints about the pods of a label.
func drawRules(t *rapid.T, p *corev1.Pod) {
	apps := rapid.SampledFrom([]string{"web", "db"})
	keys := rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone})
	st.PodLabel("app", apps.Draw(t, "app"))(p)
	switch rapid.IntRange(0, 6).Draw(t, "rule") {
	case 0:
		st.SpreadBy(keys.Draw(t, "key"), rapid.Int32Range(1, 2).Draw(t, "skew"))(p)
	case 1:
		st.Avoiding(st.Near(keys.Draw(t, "key"), apps.Draw(t, "avoids")))(p)
	case 2:
		st.Requiring(st.Near(keys.Draw(t, "key"), apps.Draw(t, "requires")))(p)
	case 3:
		st.Preferring(rapid.SampledFrom([]int32{-5, 5}).Draw(t, "weight"), st.Near(keys.Draw(t, "key"), apps.Draw(t, "prefers")))(p)
	}
}

// together returns the placed pods of the default namespace with that label in
// the node's domain, but for one; ok is false if the node is in none.
func (w *world) together(node *corev1.Node, topologyKey string, want map[string]string, but types.UID) (pods []*corev1.Pod, ok bool) {
	value, ok := node.Labels[topologyKey]
	for _, uid := range uids(w.placed) {
		pod := w.placed[uid]
		n := w.nodes[pod.Spec.NodeName]
		if other, has := n.Labels[topologyKey]; ok && has && other == value && uid != but && pod.Labels["app"] == want["app"] {
			pods = append(pods, pod)
		}
	}
	return pods, ok
}

// broken says, looking at everything, which rule a pod's place breaks.
func (w *world) broken(pod *corev1.Pod) string {
	node := w.nodes[pod.Spec.NodeName]
	for _, c := range pod.Spec.TopologySpreadConstraints {
		fewest, here := math.MaxInt, 0
		for _, n := range w.nodes {
			if match, _ := framework.NewPodInfo(pod).RequiredNodeAffinity.Match(n); !match {
				continue
			}
			if pods, ok := w.together(n, c.TopologyKey, c.LabelSelector.MatchLabels, pod.UID); ok {
				living := w.counted(pods, pod)
				fewest = min(fewest, living)
				if n.Labels[c.TopologyKey] == node.Labels[c.TopologyKey] {
					here = living
				}
			}
		}
		if pod.Labels["app"] == "web" {
			here++
		}
		if here-fewest > int(c.MaxSkew) {
			return fmt.Sprintf("%d here and %d elsewhere are more than %d apart", here, fewest, c.MaxSkew)
		}
	}
	if pod.Spec.Affinity == nil {
		return w.brokenByOthers(pod, node)
	}
	for _, term := range st.AffinityOf(pod).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if pods, _ := w.together(node, term.TopologyKey, term.LabelSelector.MatchLabels, pod.UID); len(pods) > 0 {
			return "it is near " + pods[0].Name
		}
	}
	for _, term := range st.AffinityOf(pod).PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		pods, ok := w.together(node, term.TopologyKey, term.LabelSelector.MatchLabels, pod.UID)
		if !ok || len(pods) == 0 && pod.Labels["app"] != term.LabelSelector.MatchLabels["app"] {
			return "it is far from all"
		}
	}
	return w.brokenByOthers(pod, node)
}

// counted is how many of the pods do not terminate and are on nodes that the pod
// could be on.
func (w *world) counted(pods []*corev1.Pod, pod *corev1.Pod) int {
	info := framework.NewPodInfo(pod)
	return len(slices.DeleteFunc(slices.Clone(pods), func(o *corev1.Pod) bool {
		match, _ := info.RequiredNodeAffinity.Match(w.nodes[o.Spec.NodeName])
		return !match || o.DeletionTimestamp != nil
	}))
}

func (w *world) brokenByOthers(pod *corev1.Pod, node *corev1.Node) string {
	for _, uid := range uids(w.placed) {
		other := w.placed[uid]
		if uid == pod.UID || other.Spec.Affinity == nil {
			continue
		}
		for _, term := range st.AffinityOf(other).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			value, ok := node.Labels[term.TopologyKey]
			if ok && w.nodes[other.Spec.NodeName].Labels[term.TopologyKey] == value && pod.Labels["app"] == term.LabelSelector.MatchLabels["app"] {
				return "it is too near for " + other.Name
			}
		}
	}
	return ""
}

// checkCounts compares the counts of the snapshot, which follow each change, with the counts of a
// fresh snapshot of the same nodes: for every set of pods that a decision has asked for,
// and for every affinity term of a pod on a node.
func (w *world) checkCounts(t *rapid.T, s *framework.Snapshot) {
	fresh := framework.NewSnapshot(s.Nodes())
	for _, set := range w.sets() {
		got, want := s.CountsOf(set), fresh.CountsOf(set)
		for i, n := range s.Nodes() {
			if fi, _ := fresh.Index(n.Name()); got[s.Slot(i)] != want[fresh.Slot(fi)] {
				t.Fatalf("%+v: the snapshot counts %d pods on %s, there are %d", set, got[s.Slot(i)], n.Name(), want[fresh.Slot(fi)])
			}
		}
	}
	if len(s.Held()) != len(fresh.Held()) {
		t.Fatalf("pods hold %d terms, the snapshot has %d", len(fresh.Held()), len(s.Held()))
	}
	for key, want := range fresh.Held() {
		got := s.Held()[key]
		if got == nil {
			t.Fatalf("the snapshot lacks %q", key)
		}
		for i, n := range s.Nodes() {
			if fi, _ := fresh.Index(n.Name()); got.Counts[s.Slot(i)] != want.Counts[fresh.Slot(fi)] {
				t.Fatalf("%q: the snapshot counts %d pods on %s, there are %d", key, got.Counts[s.Slot(i)], n.Name(), want.Counts[fresh.Slot(fi)])
			}
		}
	}
}

// sets returns the sets of pods that decisions about the world's pods ask for.
func (w *world) sets() []*framework.PodSet {
	var all []*framework.PodSet
	add := func(p *framework.PodInfo) {
		for i := range p.SpreadConstraints {
			all = append(all, p.SpreadConstraints[i].Set)
		}
		for i := range p.AffinityTerms {
			all = append(all, framework.IntersectionOf(p.AffinityTerms[i].Match(nil)))
		}
	}
	for _, p := range w.pending {
		add(p)
	}
	for _, pod := range w.placed {
		add(framework.NewPodInfo(pod))
	}
	return all
}

// relabel changes a placed pod's labels, or lets it terminate.
func (w *world) relabel(t *rapid.T) {
	var confirmed []types.UID
	for _, uid := range uids(w.placed) {
		if !w.assumed[uid] {
			confirmed = append(confirmed, uid)
		}
	}
	if len(confirmed) == 0 {
		return
	}
	pod := w.placed[rapid.SampledFrom(confirmed).Draw(t, "relabelled")].DeepCopy()
	if rapid.Bool().Draw(t, "terminates") {
		st.BeingPreempted(pod)
	} else {
		pod.Labels["app"] = rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app")
	}
	w.placed[pod.UID] = pod
	w.cache.SetPod(pod)
}

// However pods of a Deployment come and go, no more of them are together than its
// hard constraint allows.
func TestSkewStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1)
		for i, n := range st.Zoned(rapid.IntRange(1, 3).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b")) {
			n.Status.Allocatable = st.Quantities("cpu", fmt.Sprint(1+i), "memory", "8Gi", "pods", "20")
			w.nodes[n.Name] = n
			w.cache.SetNode(n)
		}
		key := rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone}).Draw(t, "key")
		for i := range rapid.IntRange(1, 40).Draw(t, "pods") {
			p := st.Pod(fmt.Sprintf("p%d", i), st.PodLabel("app", "web"), st.Requests("cpu", "100m"), st.SpreadBy(key, 1))
			w.pending[p.UID] = framework.NewPodInfo(p)
			w.decide(p.UID)
		}
		counts := map[string]int{}
		for _, n := range w.nodes {
			counts[n.Labels[key]] += 0
		}
		for _, pod := range w.placed {
			counts[w.nodes[pod.Spec.NodeName].Labels[key]]++
		}
		least, most := math.MaxInt, 0
		for _, n := range counts {
			least, most = min(least, n), max(most, n)
		}
		if most-least > 1 {
			t.Fatalf("pods by %s: %v", key, counts)
		}
	})
}
