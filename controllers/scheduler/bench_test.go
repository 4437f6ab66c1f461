package scheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/clock"
)

// BenchmarkDecide is a pod's way from the queue to being assumed on a node, all
// but the API's part.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			beliefs := newBelieved()
			for _, n := range testNodes(nodes, allocatable("cpu", "1000000", "memory", "1000Ti", "pods", "100000000")) {
				beliefs.setNode(n)
			}
			q := newQueue(clock.Real(), nil, func(*queuedPod, change) bool { return false })
			defer q.close()
			random := clock.NewRandom(1)
			var snapshot *Snapshot
			start := 0
			pods := make([]*corev1.Pod, b.N)
			for i := range pods {
				pods[i] = testPod(fmt.Sprintf("p%d", i), requests("cpu", "10m", "memory", "10Mi"))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				q.set(pods[i])
				a := q.pop()
				snapshot = beliefs.update(snapshot)
				d := Decide(Input{Pod: a.info, Snapshot: snapshot, Start: start, Pick: random.IntN})
				start = d.Next
				beliefs.assume(a.info, d.Node)
				q.decided(a)
				q.done(a)
				if i%(nodes*100) == nodes*100-1 { // keep nodes at 100 pods
					b.StopTimer()
					for _, p := range pods[i+1-nodes*100 : i+1] {
						beliefs.removePod(p.UID)
					}
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}

// BenchmarkPreempt finds victims on nodes that are full of small pods.
func BenchmarkPreempt(b *testing.B) {
	nodes := testNodes(100)
	var pods []*corev1.Pod
	for i := range 100 * 40 {
		pods = append(pods, testPod(fmt.Sprintf("o%d", i), onNode(nodes[i%100].Name), requests("cpu", "100m")))
	}
	in := Input{Pod: NewPodInfo(testPod("p", requests("cpu", "2"), priority(1))), Snapshot: snapshotOf(nodes, pods...), Pick: first}
	d := Decide(in)
	b.ReportAllocs()
	for b.Loop() {
		if p := Preempt(in, d.Diagnosis); len(p.Victims) != 20 {
			b.Fatalf("%d victims", len(p.Victims))
		}
	}
}

// BenchmarkSpread puts the pods of one Deployment on nodes: by the default
// constraints, by a hard one of its own, and each kept apart from others by
// anti-affinity that no pod stands in the way of.
func BenchmarkSpread(b *testing.B) {
	apart := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
			}},
		}}
	}
	hard := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	}
	siblings := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	for _, kind := range []struct {
		name     string
		option   podOption
		siblings *PodSet
	}{{"default", func(*corev1.Pod) {}, siblings}, {"hard", hard, nil}, {"apart", apart, siblings}} {
		for _, nodes := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind.name, nodes), func(b *testing.B) {
				beliefs := newBelieved()
				for _, n := range testNodes(nodes, allocatable("pods", "100000")) {
					beliefs.setNode(n)
				}
				var snapshot *Snapshot
				start := 0
				spread := make([]*corev1.Pod, b.N)
				for i := range spread {
					spread[i] = testPod(fmt.Sprintf("p%d", i), kind.option, podLabel("app", "web"))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					p := NewPodInfo(spread[i])
					snapshot = beliefs.update(snapshot)
					d := Decide(Input{Pod: p, Snapshot: snapshot, Start: start, Siblings: kind.siblings, Pick: first})
					start = d.Next
					beliefs.assume(p, d.Node)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
			})
		}
	}
}
