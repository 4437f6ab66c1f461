package tally_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// versions is an account that holds the resourceVersions of its pods.
type versions map[types.NamespacedName]string

func (v versions) Set(pod *corev1.Pod)            { v[loop.KeyOf(pod)] = pod.ResourceVersion }
func (v versions) Unset(key types.NamespacedName) { delete(v, key) }
func (v versions) Len() int                       { return len(v) }

func byNode(pod *corev1.Pod) string { return pod.Spec.NodeName }

func pod(name, node, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, ResourceVersion: version}, Spec: corev1.PodSpec{NodeName: node}}
}

func read(t *tally.Tally[*corev1.Pod, versions], group string) (found versions) {
	t.Read(func(of func(string) versions) { found = maps.Clone(of(group)) })
	return found
}

// TestFollowsEvents compares accounts with the objects that the events have shown, of which some
// are wrong: the old object of an update and the object of a deletion may be of any group.
func TestFollowsEvents(t *testing.T) {
	nodes := []string{"", "n1", "n2"}
	rapid.Check(t, func(t *rapid.T) {
		accounts := tally.New(byNode, func() versions { return versions{} })
		shown := map[string]*corev1.Pod{}
		for i := range 50 {
			name := rapid.SampledFrom([]string{"p1", "p2", "p3"}).Draw(t, "pod")
			p := pod(name, rapid.SampledFrom(nodes).Draw(t, "node"), string(rune('A'+i)))
			ev := loop.Event{Type: loop.EventType(rapid.IntRange(0, 2).Draw(t, "type")), Object: p}
			if ev.Type == loop.Deleted {
				delete(shown, name)
			} else {
				ev.Old, shown[name] = pod(name, rapid.SampledFrom(nodes).Draw(t, "old node"), "old"), p
			}
			accounts.Observe(ev)
			for _, node := range nodes {
				want := versions{}
				for _, p := range shown {
					if node != "" && p.Spec.NodeName == node {
						want.Set(p)
					}
				}
				if got := read(accounts, node); !maps.Equal(got, want) {
					t.Fatalf("the account of %q has %v, want %v", node, got, want)
				}
			}
		}
	})
}

func TestDropsEmptyAccounts(t *testing.T) {
	opened := 0
	accounts := tally.New(byNode, func() versions { opened++; return versions{} })
	for range 2 {
		accounts.Observe(loop.Event{Object: pod("p", "n1", "1")})
		accounts.Observe(loop.Event{Type: loop.Deleted, Object: pod("p", "n1", "2")})
	}
	if opened != 2 {
		t.Errorf("%d accounts were opened, want 2: the first is dropped when it is empty", opened)
	}
	accounts.Observe(loop.Event{Object: &corev1.Node{}})
	if got := slices.Collect(maps.Keys(read(accounts, "n1"))); len(got) != 0 {
		t.Errorf("an empty account has %v", got)
	}
}
