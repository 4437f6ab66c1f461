package serviceloadbalancer

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func balancedService(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "u"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// served adds the finalizer and the status of a reconciled Service.
func served(s *corev1.Service) {
	s.Finalizers = []string{finalizer}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
}

func going(s *corev1.Service)   { s.DeletionTimestamp = &metav1.Time{} }
func local(s *corev1.Service)   { s.Spec.Type = corev1.ServiceTypeClusterIP }
func classed(s *corev1.Service) { class := "x.example/y"; s.Spec.LoadBalancerClass = &class }
func ported(s *corev1.Service)  { s.Spec.Ports[0].Port = 81 }
func noted(s *corev1.Service)   { s.Annotations = map[string]string{"a": "b"} }
func labeled(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }

func TestDecide(t *testing.T) {
	last := balancedService(served)
	for name, tt := range map[string]struct {
		service, last *corev1.Service
		exists        bool
		nodes         string
		want          Verdict
	}{
		"new":                   {balancedService(), nil, false, "n", Ensure},
		"of a class":            {balancedService(classed), nil, false, "n", Nothing},
		"no load balancer":      {balancedService(local), nil, false, "n", Nothing},
		"as it was":             {balancedService(served), last, true, "n", Nothing},
		"of a process before":   {balancedService(served), nil, true, "n", Settled},
		"address not known":     {balancedService(served), nil, false, "n", Ensure},
		"finalizer missing":     {balancedService(served, func(s *corev1.Service) { s.Finalizers = nil }), last, true, "n", Ensure},
		"port changed":          {balancedService(served, ported), last, true, "n", Ensure},
		"annotation changed":    {balancedService(served, noted), last, true, "n", Ensure},
		"label changed":         {balancedService(served, labeled), last, true, "n", Nothing},
		"other nodes":           {balancedService(served), last, true, "n,m", NewNodes},
		"deleted":               {balancedService(served, going), last, true, "n", Remove},
		"deleted, never served": {balancedService(going), nil, false, "n", Nothing},
		"of another type now":   {balancedService(served, local), last, true, "n", Remove},
		"deleted by others":     {balancedService(local), last, true, "n", Remove},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(tt.service, tt.last, tt.exists, tt.nodes, "n"); got != tt.want {
				t.Errorf("Decide() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	node := func(name string, change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if change != nil {
			change(n)
		}
		return n
	}
	nodes := []*corev1.Node{
		node("b", nil), node("a", nil),
		node("c", func(n *corev1.Node) { n.Labels = map[string]string{excluded: ""} }),
		node("d", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }),
	}
	if got := targets(nodes); got != "a,b" {
		t.Errorf("targets() = %q", got)
	}
}

func TestBalancerGivesEachItsOwn(t *testing.T) {
	b := newBalancer(netip.Prefix{})
	seen := map[netip.Addr]bool{}
	for i := range 3000 {
		service := balancedService(func(s *corev1.Service) {
			s.Name, s.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
			s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		})
		addresses, err := b.ensure(service)
		if err != nil || len(addresses) != 2 {
			t.Fatal(addresses, err)
		}
		for _, ip := range addresses {
			if seen[ip] || !netip.MustParsePrefix("198.18.0.0/15").Contains(ip) && !netip.MustParsePrefix("2001:db8::/64").Contains(ip) {
				t.Fatalf("%s for service %d", ip, i)
			}
			seen[ip] = true
		}
		again, err := b.ensure(service)
		if err != nil || again[0] != addresses[0] || again[1] != addresses[1] {
			t.Fatalf("first %v, then %v, %v", addresses, again, err)
		}
	}
}

// Addresses that are not of the network that was asked for are replaced, unless the Service asks for them.
func TestBalancerNetwork(t *testing.T) {
	network := netip.MustParsePrefix("127.64.0.0/16")
	for name, tt := range map[string]struct {
		has, asks string
		keeps     bool
	}{"of the network": {"127.64.9.9", "", true}, "another": {"198.18.0.7", "", false}, "asked for": {"198.18.0.7", "198.18.0.7", true}} {
		service := balancedService(func(s *corev1.Service) {
			s.UID, s.Finalizers, s.Spec.LoadBalancerIP = "u", []string{finalizer}, tt.asks
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: tt.has}}
		})
		b := newBalancer(network)
		b.adopt(service)
		addresses, err := b.ensure(service)
		if err != nil || (addresses[0].String() == tt.has) != tt.keeps || !tt.keeps && !network.Contains(addresses[0]) {
			t.Errorf("%s: %v, %v", name, addresses, err)
		}
	}
}

func TestBalancerWhatWasAskedFor(t *testing.T) {
	b := newBalancer(netip.Prefix{})
	asking := func(uid, ip string) *corev1.Service {
		return balancedService(func(s *corev1.Service) { s.UID, s.Spec.LoadBalancerIP = types.UID(uid), ip })
	}
	addresses, err := b.ensure(asking("u", "203.0.113.5"))
	if err != nil || len(addresses) != 1 || addresses[0] != netip.MustParseAddr("203.0.113.5") {
		t.Errorf("got %v, %v", addresses, err)
	}
	if _, err := b.ensure(asking("v", "203.0.113.5")); err == nil {
		t.Error("two have one address")
	}
	b.remove("u")
	if _, err := b.ensure(asking("v", "203.0.113.5")); err != nil {
		t.Error(err)
	}
	if _, err := b.ensure(asking("w", "here")); err == nil {
		t.Error("took a name")
	}
	b.adopt(balancedService(served, func(s *corev1.Service) { s.UID = "x" }))
	if _, err := b.ensure(asking("y", "198.18.0.1")); err == nil {
		t.Error("took what a Service had before")
	}
}
