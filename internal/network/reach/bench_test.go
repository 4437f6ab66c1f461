package reach_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/services"
)

// large makes a cluster of so many Services, each with five pods and every tenth with a policy, in ten namespaces.
func large(count int) *reach.Cluster {
	c := reach.New()
	c.DNS = netip.MustParseAddr("10.96.0.10")
	address := netip.MustParseAddr("10.128.0.0")
	name, port := "", int32(80)
	for i := range count {
		namespace, app := fmt.Sprintf("ns-%d", i%10), fmt.Sprintf("app-%d", i)
		meta := metav1.ObjectMeta{Namespace: namespace, Name: app, Labels: map[string]string{"app": app, "tier": "backend", discoveryv1.LabelServiceName: app}}
		c.Policies.SetNamespace(namespace, nil)
		s := &corev1.Service{ObjectMeta: meta}
		s.Spec.ClusterIP = netip.AddrFrom4([4]byte{10, 97, byte(i >> 8), byte(i)}).String()
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		c.Services.SetService(s)
		slice := &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}}}
		for k := range 5 {
			address = address.Next()
			pod := &corev1.Pod{ObjectMeta: meta}
			pod.Name = fmt.Sprintf("%s-%d", app, k)
			pod.Spec.NodeName, pod.Status.PodIP = "n0", address.String()
			c.SetPod(pod)
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address.String()}})
		}
		c.Services.SetSlice(slice)
		if i%10 == 3 {
			p := &networkingv1.NetworkPolicy{ObjectMeta: meta}
			app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app, "tier": "backend"}}
			p.Spec.PodSelector = *app
			p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: app}}}}
			c.Policies.Set(p)
		}
	}
	return c
}

// A change costs what has changed, also if nodes know it later.
func BenchmarkUpdate(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("services=%d", size), func(b *testing.B) {
			c, key := large(size), services.Key{Namespace: "ns-3", Name: "app-3"}
			c.SetSyncPeriod(time.Second)
			slice, now := c.Services.Slices(key)[0], time.Unix(1e9, 0)
			for b.Loop() {
				now = now.Add(100 * time.Millisecond)
				c.Changing(key, now)
				c.Services.SetSlice(slice)
			}
		})
	}
}

// A decision looks at what concerns it, whatever the number of other Services, policies and pods. Short runs with many of them
// measure the time of fresh memory, since the heap grows: use -benchtime 1000000x.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("services=%d", size), func(b *testing.B) {
			c := large(size)
			from := policy.Peer{Pod: c.Pod("ns-3", "app-3-0")}
			listens := func(*corev1.Pod, int32, corev1.Protocol) *reach.Listener { return &reach.Listener{} }
			for i := 0; b.Loop(); i++ {
				p := c.Decide(&reach.Query{From: from, Host: "app-3", Port: 80, Random: uint64(i), Listens: listens})
				if p.Outcome != reach.Connected || len(p.Verdict.Ingress.Selected) != 1 {
					b.Fatal(p.Outcome, p.Why)
				}
			}
		})
	}
}
