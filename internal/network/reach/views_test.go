package reach_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/services"
)

// viewed is a cluster whose Service web has one endpoint, which changes.
type viewed struct {
	*testing.T
	*reach.Cluster
	now time.Time
}

func newViewed(t *testing.T) *viewed {
	t.Helper()
	v := &viewed{t, reach.New(), time.Unix(1e9, 0)}
	for _, name := range []string{"n0", "n1"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Spec.PodCIDR = "10.244.0.0/16"
		v.SetNode(node)
	}
	v.pod("c0", "n0", "10.244.0.2")
	v.pod("c1", "n1", "10.244.0.3")
	v.pod("a", "n0", "10.244.0.4")
	v.pod("b", "n0", "10.244.0.5")
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	s.Spec.ClusterIP, s.Spec.Ports = "10.96.0.20", []corev1.ServicePort{{Port: 80}}
	v.Cluster.Services.SetService(s)
	v.endpoint("10.244.0.4")
	return v
}

func (v *viewed) pod(name, node, address string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	pod.Spec.NodeName, pod.Status.PodIP = node, address
	v.SetPod(pod)
}

func (v *viewed) endpoint(address string) {
	port, name := int32(80), ""
	v.Changing(services.Key{Namespace: "default", Name: "web"}, v.now)
	v.Cluster.Services.SetSlice(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
	})
}

// want expects that a client on each of the nodes is sent to a pod.
func (v *viewed) want(n0, n1 string, stale ...string) {
	v.Helper()
	for from, want := range map[string]string{"c0": n0, "c1": n1} {
		q := &reach.Query{From: policy.Peer{Pod: v.Pod("default", from)}, Host: "10.96.0.20", Port: 80, Now: v.now, Listens: listens}
		q.Listens = func(*corev1.Pod, int32, corev1.Protocol) *reach.Listener { return &reach.Listener{} }
		p := v.Decide(q)
		if p.Pod == nil || p.Pod.Name != want {
			v.Errorf("after %v, %s is sent to %+v (%s %s), want %s", v.now.Sub(time.Unix(1e9, 0)), from, p.Endpoint, p.Outcome, p.Why, want)
		}
		for _, text := range stale {
			if from == "c1" && !strings.Contains(p.Report(q, "a", "b").Text(), text) {
				v.Errorf("no word of %q: %s", text, p.Report(q, "a", "b").Text())
			}
		}
	}
}

func (v *viewed) after(d time.Duration) { v.now = v.now.Add(d) }

// Changes within a period after a sync wait, and are known together.
func TestSyncPeriod(t *testing.T) {
	v := newViewed(t)
	v.SetSyncPeriod(time.Second)
	v.endpoint("10.244.0.4")
	v.endpoint("10.244.0.5") // at the same instant
	v.want("b", "b")
	v.after(200 * time.Millisecond)
	v.endpoint("10.244.0.4")
	v.want("b", "b", "  view      node n1 knows default/web as it was, until kube-proxy syncs at 2001-09-09T01:46:41Z\n")
	v.after(799 * time.Millisecond)
	v.want("b", "b")
	v.after(time.Millisecond)
	v.want("a", "a")
	v.after(5 * time.Second)
	v.endpoint("10.244.0.5")
	v.want("b", "b")
}

// A node whose view is stopped knows what it knew, whatever the others know.
func TestStoppedView(t *testing.T) {
	v := newViewed(t)
	v.SetSyncPeriod(time.Second)
	v.endpoint("10.244.0.4")
	v.after(100 * time.Millisecond)
	v.endpoint("10.244.0.5")
	v.StopView("n1", "it is stopped", v.now)
	v.StopView("n1", "it is cut off", v.now)
	v.after(time.Hour)
	v.want("b", "a", "  view      node n1 knows default/web as it was: it is cut off since 2001-09-09T01:46:40.1Z\n")
	v.Changing(services.Key{Namespace: "default", Name: "web"}, v.now)
	v.Cluster.Services.DeleteService(services.Key{Namespace: "default", Name: "web"})
	q := &reach.Query{From: policy.Peer{Pod: v.Pod("default", "c0")}, Host: "10.96.0.20", Port: 80, Now: v.now}
	if p := v.Decide(q); p.Outcome != reach.Unknown {
		t.Errorf("without the Service: %s", p.Outcome)
	}
	v.StartView("n1", "it is stopped")
	q.From.Pod, q.Listens = v.Pod("default", "c1"), func(*corev1.Pod, int32, corev1.Protocol) *reach.Listener { return nil }
	if p := v.Decide(q); p.Pod == nil || p.Pod.Name != "a" {
		t.Errorf("the stopped node sends it to %+v", p)
	}
	v.StartView("n1", "it is cut off")
	if p := v.Decide(q); p.Outcome != reach.Unknown {
		t.Errorf("after the start: %s", p.Outcome)
	}
}
