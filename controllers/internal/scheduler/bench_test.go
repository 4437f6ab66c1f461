package scheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/cache"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func pickFirst(int) int { return 0 }

// BenchmarkDecide is a pod's way from the queue to being assumed on a node, all
// but the API's part.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			known := cache.New()
			for _, n := range st.Nodes(nodes, st.Allocatable("cpu", "1000000", "memory", "1000Ti", "pods", "100000000")) {
				known.SetNode(n)
			}
			q := queue.New(clock.Real(), nil, queue.Options{Name: "bench", Hint: func(queue.Waiting, framework.ClusterEvent) bool { return false }})
			defer q.Close()
			random := clock.NewRandom(1)
			var snapshot *framework.Snapshot
			start := 0
			pods := make([]*corev1.Pod, b.N)
			for i := range pods {
				pods[i] = st.Pod(fmt.Sprintf("p%d", i), st.Requests("cpu", "10m", "memory", "10Mi"))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				q.Set(pods[i])
				a := q.Pop(b.Context())
				snapshot = known.UpdateSnapshot(snapshot)
				d := plugins.Decide(plugins.Input{Pod: a.Info, Snapshot: snapshot, Start: start, Pick: random.IntN})
				start = d.Next
				known.AssumePod(a.Info, d.Node)
				q.Decided(a)
				q.Done(a)
				if i%(nodes*100) == nodes*100-1 { // keep nodes at 100 pods
					b.StopTimer()
					for _, p := range pods[i+1-nodes*100 : i+1] {
						known.RemovePod(p.UID)
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
	nodes := st.Nodes(100)
	var pods []*corev1.Pod
	for i := range 100 * 40 {
		pods = append(pods, st.Pod(fmt.Sprintf("o%d", i), st.OnNode(nodes[i%100].Name), st.Requests("cpu", "100m")))
	}
	in := plugins.Input{Pod: framework.NewPodInfo(st.Pod("p", st.Requests("cpu", "2"), st.Priority(1))), Snapshot: framework.SnapshotOf(nodes, pods), Pick: pickFirst}
	d := plugins.Decide(in)
	b.ReportAllocs()
	for b.Loop() {
		if p := plugins.Preempt(in, d.Diagnosis); len(p.Victims) != 20 {
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
	siblings := framework.NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	for _, kind := range []struct {
		name     string
		option   st.PodOption
		siblings *framework.PodSet
	}{{"default", func(*corev1.Pod) {}, siblings}, {"hard", hard, nil}, {"apart", apart, siblings}} {
		for _, nodes := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind.name, nodes), func(b *testing.B) {
				known := cache.New()
				for _, n := range st.Nodes(nodes, st.Allocatable("pods", "100000")) {
					known.SetNode(n)
				}
				var snapshot *framework.Snapshot
				start := 0
				spread := make([]*corev1.Pod, b.N)
				for i := range spread {
					spread[i] = st.Pod(fmt.Sprintf("p%d", i), kind.option, st.PodLabel("app", "web"))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					p := framework.NewPodInfo(spread[i])
					snapshot = known.UpdateSnapshot(snapshot)
					d := plugins.Decide(plugins.Input{Pod: p, Snapshot: snapshot, Start: start, Siblings: kind.siblings, Pick: pickFirst})
					start = d.Next
					known.AssumePod(p, d.Node)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
			})
		}
	}
}
