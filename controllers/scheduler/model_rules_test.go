package scheduler

import (
	"fmt"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// drawRules gives a pod a label, and maybe constraints about the pods of a label.
func drawRules(t *rapid.T, p *corev1.Pod) {
	apps := rapid.SampledFrom([]string{"web", "db"})
	keys := rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone})
	podLabel("app", apps.Draw(t, "app"))(p)
	switch rapid.IntRange(0, 6).Draw(t, "rule") {
	case 0:
		spreadBy(keys.Draw(t, "key"), rapid.Int32Range(1, 2).Draw(t, "skew"))(p)
	case 1:
		avoiding(near(keys.Draw(t, "key"), apps.Draw(t, "avoids")))(p)
	case 2:
		requiring(near(keys.Draw(t, "key"), apps.Draw(t, "requires")))(p)
	case 3:
		preferring(rapid.SampledFrom([]int32{-5, 5}).Draw(t, "weight"), near(keys.Draw(t, "key"), apps.Draw(t, "prefers")))(p)
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
			if match, _ := NewPodInfo(pod).required.Match(n); !match {
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
	for _, term := range affinityOf(pod).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if pods, _ := w.together(node, term.TopologyKey, term.LabelSelector.MatchLabels, pod.UID); len(pods) > 0 {
			return "it is near " + pods[0].Name
		}
	}
	for _, term := range affinityOf(pod).PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
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
	info := NewPodInfo(pod)
	return len(slices.DeleteFunc(slices.Clone(pods), func(o *corev1.Pod) bool {
		match, _ := info.required.Match(w.nodes[o.Spec.NodeName])
		return !match || o.DeletionTimestamp != nil
	}))
}

func (w *world) brokenByOthers(pod *corev1.Pod, node *corev1.Node) string {
	for _, uid := range uids(w.placed) {
		other := w.placed[uid]
		if uid == pod.UID || other.Spec.Affinity == nil {
			continue
		}
		for _, term := range affinityOf(other).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			value, ok := node.Labels[term.TopologyKey]
			if ok && w.nodes[other.Spec.NodeName].Labels[term.TopologyKey] == value && pod.Labels["app"] == term.LabelSelector.MatchLabels["app"] {
				return "it is too near for " + other.Name
			}
		}
	}
	return ""
}

// checkCounts compares what is counted along the way with what is counted anew.
func (w *world) checkCounts(t *rapid.T, s *Snapshot) {
	fresh := NewSnapshot(s.nodes)
	for key, c := range s.tally.sets {
		want := fresh.countsOf(c.set)
		for _, n := range s.nodes {
			if got, want := c.counts[s.tally.slots[n.Name()]], want[fresh.tally.slots[n.Name()]]; got != want {
				t.Fatalf("%q: %d pods on %s are counted, there are %d", key, got, n.Name(), want)
			}
		}
	}
	if len(s.tally.held) != len(fresh.tally.held) {
		t.Fatalf("%d terms are held, %d are known", len(fresh.tally.held), len(s.tally.held))
	}
	for key, h := range fresh.tally.held {
		got := s.tally.held[key]
		if got == nil || got.total != h.total {
			t.Fatalf("%q is held by %d pods, known are %v", key, h.total, got)
		}
		for _, n := range s.nodes {
			if got, want := got.counts[s.tally.slots[n.Name()]], h.counts[fresh.tally.slots[n.Name()]]; got != want {
				t.Fatalf("%q is held by %d pods on %s, known are %d", key, want, n.Name(), got)
			}
		}
	}
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
		beingPreempted(pod)
	} else {
		pod.Labels["app"] = rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app")
	}
	w.placed[pod.UID] = pod
	w.beliefs.setPod(pod)
}

// However pods of a Deployment come and go, no more of them are together than its
// hard constraint allows.
func TestSkewStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1)
		for i, n := range zoned(rapid.IntRange(1, 3).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b")) {
			n.Status.Allocatable = quantities("cpu", fmt.Sprint(1+i), "memory", "8Gi", "pods", "20")
			w.nodes[n.Name] = n
			w.beliefs.setNode(n)
		}
		key := rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone}).Draw(t, "key")
		for i := range rapid.IntRange(1, 40).Draw(t, "pods") {
			p := testPod(fmt.Sprintf("p%d", i), podLabel("app", "web"), requests("cpu", "100m"), spreadBy(key, 1))
			w.pending[p.UID] = NewPodInfo(p)
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
