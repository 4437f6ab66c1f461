package decide

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/btree"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func testService(mutate ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", Labels: map[string]string{"app": "web"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web"), Protocol: corev1.ProtocolTCP}},
		},
	}
	for _, m := range mutate {
		m(s)
	}
	return s
}

func testPod(name, ip string, port int32, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{
			Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		}}},
		Status: corev1.PodStatus{
			PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}},
		},
	}
}

// brief formats subsets: addresses, those that are not ready after a bar, ports.
func brief(subsets []corev1.EndpointSubset) []string {
	var lines []string
	for _, s := range subsets {
		line := ""
		for _, a := range s.Addresses {
			line += a.IP + " "
		}
		line += "|"
		for _, a := range s.NotReadyAddresses {
			line += " " + a.IP
		}
		for _, p := range s.Ports {
			line += fmt.Sprintf(" %s:%d", p.Name, p.Port)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSubsets(t *testing.T) {
	terminating := testPod("t", "10.0.0.9", 8080, true)
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	pods := []*corev1.Pod{
		testPod("b", "10.0.0.3", 8080, true), testPod("a", "10.0.0.2", 8080, true), testPod("c", "10.0.0.1", 8080, false),
		testPod("none", "", 8080, true), terminating,
	}
	pods[3].Status.PodIPs = nil
	for name, tt := range map[string]struct {
		service *corev1.Service
		pods    []*corev1.Pod
		want    []string
	}{
		"no pods": {testService(), nil, nil},
		"ready and not": {
			testService(), pods, []string{"10.0.0.2 10.0.0.3 | 10.0.0.1 http:8080"},
		},
		"not ready ones published": {
			testService(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }), pods,
			[]string{"10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.9 | http:8080"},
		},
		"another family": {
			testService(func(s *corev1.Service) { s.Spec.IPFamilies[0] = corev1.IPv6Protocol }), pods[:1],
			[]string{"fd00::1 | http:8080"},
		},
		"port that pods lack": {
			testService(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("x") }), pods, nil,
		},
		"headless without ports": {
			testService(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Ports = corev1.ClusterIPNone, nil }), pods[:1],
			[]string{"10.0.0.3 |"},
		},
		"named port of two numbers": {
			testService(),
			[]*corev1.Pod{testPod("a", "10.0.0.1", 80, true), testPod("b", "10.0.0.2", 81, true), testPod("c", "10.0.0.3", 80, true)},
			[]string{"10.0.0.1 10.0.0.3 | http:80", "10.0.0.2 | http:81"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := NewAccount(tt.service, tt.pods).subsets()
			lines := brief(got)
			// Subsets are sorted by hash.
			if len(lines) == 2 && lines[0] > lines[1] {
				lines[0], lines[1] = lines[1], lines[0]
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTruncateKeepsReadyOnesFirst(t *testing.T) {
	members := func(n int) *btree.BTreeG[member] {
		tree := btree.NewG(32, before)
		for i := range n {
			tree.ReplaceOrInsert(member{name: fmt.Sprint(i)})
		}
		return tree
	}
	for name, tt := range map[string]struct {
		in, want [][2]int
		over     bool
	}{
		"fits":                {[][2]int{{600, 400}}, [][2]int{{600, 400}}, false},
		"not ready ones go":   {[][2]int{{700, 400}}, [][2]int{{700, 300}}, true},
		"only ready ones":     {[][2]int{{1500, 5}}, [][2]int{{1000, 0}}, true},
		"in proportion":       {[][2]int{{1500, 0}, {500, 1}}, [][2]int{{750, 0}, {250, 0}}, true},
		"not ready of two":    {[][2]int{{500, 900}, {400, 100}}, [][2]int{{500, 90}, {400, 10}}, true},
		"rounding adds up":    {[][2]int{{667, 0}, {667, 0}, {667, 0}}, [][2]int{{333, 0}, {333, 0}, {333, 0}}, true},
		"none of either sort": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var groups []*subset
			for _, n := range tt.in {
				groups = append(groups, &subset{ready: members(n[0]), notReady: members(n[1])})
			}
			ready, notReady, over := shares(groups)
			if over != tt.over {
				t.Errorf("shares() = %v", over)
			}
			var got [][2]int
			for i := range groups {
				got = append(got, [2]int{ready[i], notReady[i]})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	service := testService()
	pods := []*corev1.Pod{testPod("a", "10.0.0.1", 80, true)}
	trigger := time.Unix(5, 0)
	first := Endpoints(service, NewAccount(service, pods), nil, trigger)
	if first == nil || first.Name != "web" || first.ResourceVersion != "" {
		t.Fatalf("first: %+v", first)
	}
	wantLabels := map[string]string{"app": "web", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
	if diff := cmp.Diff(wantLabels, first.Labels); diff != "" {
		t.Error(diff)
	}
	if got := first.Annotations[corev1.EndpointsLastChangeTriggerTime]; got != "1970-01-01T00:00:05Z" {
		t.Errorf("trigger time %q", got)
	}
	first.ResourceVersion = "7"
	if again := Endpoints(service, NewAccount(service, pods), first, trigger); again != nil {
		t.Errorf("nothing changed, but: %+v", again)
	}
	first.Annotations["mine"] = "kept"
	headless := testService(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	second := Endpoints(headless, NewAccount(headless, pods), first, time.Time{})
	if second == nil || second.ResourceVersion != "7" {
		t.Fatalf("second: %+v", second)
	}
	if diff := cmp.Diff(map[string]string{"mine": "kept"}, second.Annotations); diff != "" {
		t.Error(diff)
	}
	if _, is := second.Labels[corev1.IsHeadlessService]; !is {
		t.Error("headless, but not labelled so")
	}
	if _, touched := first.Labels[corev1.IsHeadlessService]; touched {
		t.Error("the cached object was changed")
	}
	var many []*corev1.Pod
	for i := range maxAddresses + 1 {
		many = append(many, testPod(fmt.Sprint(i), fmt.Sprintf("10.1.%d.%d", i/256, i%256), 80, true))
	}
	third := Endpoints(service, NewAccount(service, many), first, trigger)
	if third.Annotations[corev1.EndpointsOverCapacity] != "truncated" || len(third.Subsets[0].Addresses) != maxAddresses {
		t.Errorf("over capacity: %v, %d addresses", third.Annotations, len(third.Subsets[0].Addresses))
	}
}

// TestAccountAgrees compares an account that is changed pod by pod with one that is made from
// all pods, after every change.
func TestAccountAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service := testService(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = rapid.Bool().Draw(t, "publish") })
		account, shown := NewAccount(service, nil), map[string]*corev1.Pod{}
		for range 40 {
			name := fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "pod"))
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				account.Unset(name)
				delete(shown, name)
			} else {
				ip := rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2", "10.0.0.3"}).Draw(t, "ip")
				pod := testPod(name, ip, int32(rapid.IntRange(80, 81).Draw(t, "port")), rapid.Bool().Draw(t, "ready"))
				account.Set(pod)
				shown[name] = pod
			}
			want, _ := NewAccount(service, slices.Collect(maps.Values(shown))).subsets()
			got, _ := account.subsets()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("-from scratch +account:\n%s", diff)
			}
		}
	})
}
