package policy_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/network/policy"
)

// maker makes small random clusters, in which many things match.
type maker struct{ *rand.Rand }

func pick[T any](m maker, of ...T) T { return of[m.IntN(len(of))] }

func (m maker) labels() map[string]string {
	of := map[string]string{}
	for _, key := range []string{"app", "tier"} {
		if value := pick(m, "", "a", "b"); value != "" {
			of[key] = value
		}
	}
	return of
}

func (m maker) selector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if m.IntN(2) == 0 {
		s.MatchLabels = m.labels()
	}
	for range m.IntN(3) {
		e := metav1.LabelSelectorRequirement{Key: pick(m, "app", "tier"), Operator: pick(m, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = pick(m, []string{"a"}, []string{"b"}, []string{"a", "b"})
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

func (m maker) peers() []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for range m.IntN(3) {
		var p networkingv1.NetworkPolicyPeer
		switch m.IntN(4) {
		case 0:
			p.PodSelector = m.selector()
		case 1:
			p.NamespaceSelector = m.selector()
		case 2:
			p.PodSelector, p.NamespaceSelector = m.selector(), m.selector()
		default:
			p.IPBlock = &networkingv1.IPBlock{CIDR: pick(m, "10.0.0.0/24", "10.0.0.0/30", "0.0.0.0/0", "fd00::/64"), Except: pick(m, nil, []string{"10.0.0.2/32"}, []string{"10.0.0.0/31", "10.0.0.4/30"})}
		}
		peers = append(peers, p)
	}
	return peers
}

func (m maker) ports() []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for range m.IntN(3) {
		var p networkingv1.NetworkPolicyPort
		if protocol := pick(m, "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP); protocol != "" {
			p.Protocol = &protocol
		}
		switch m.IntN(4) {
		case 0:
		case 1:
			name := intstr.FromString(pick(m, "http", "dns"))
			p.Port = &name
		default:
			first := int32(m.IntN(4) + 80)
			number := intstr.FromInt32(first)
			p.Port = &number
			if m.IntN(2) == 0 {
				last := first + int32(m.IntN(3))
				p.EndPort = &last
			}
		}
		ports = append(ports, p)
	}
	return ports
}

func (m maker) policy(i int) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: pick(m, "x", "y"), Name: fmt.Sprintf("p%d", i)}}
	p.Spec.PodSelector = *m.selector()
	p.Spec.PolicyTypes = pick(m, nil, []networkingv1.PolicyType{"Ingress"}, []networkingv1.PolicyType{"Egress"}, []networkingv1.PolicyType{"Ingress", "Egress"})
	for range m.IntN(3) {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: m.peers(), Ports: m.ports()})
	}
	for range m.IntN(3) {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: m.peers(), Ports: m.ports()})
	}
	return p
}

// peer makes a pod, a pod of the host network, a node, or an address of the outside. Each has its own address.
func (m maker) peer(i int) policy.Peer {
	address := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
	if m.IntN(5) == 0 {
		address = netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1))
	}
	switch m.IntN(8) {
	case 0:
		return policy.Peer{Address: address}
	case 1:
		return policy.Peer{Address: address, Node: pick(m, "n0", "n1")}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pick(m, "x", "y", "z"), Name: fmt.Sprintf("pod%d", i), Labels: m.labels()}}
	pod.Spec.NodeName, pod.Spec.HostNetwork = pick(m, "n0", "n1"), m.IntN(6) == 0
	pod.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{
		{Name: pick(m, "http", "dns"), ContainerPort: int32(80 + m.IntN(4)), Protocol: pick(m, corev1.ProtocolTCP, corev1.ProtocolUDP)},
	}}}
	return policy.Peer{Address: address, Pod: pod}
}

// compare makes a cluster of a seed and compares all decisions between its peers with naive.
func compare(t *testing.T, seed uint64) {
	m := maker{rand.New(rand.NewPCG(seed, 0))}
	n := &naive{namespaces: map[string]map[string]string{}}
	var set policy.Set
	for _, name := range []string{"x", "y"} { // the labels of z are unknown
		n.namespaces[name] = m.labels()
		set.SetNamespace(name, n.namespaces[name])
	}
	for i := range m.IntN(6) {
		p := m.policy(i)
		set.Set(p)
		if again := m.IntN(6); again == 0 {
			set.Delete(p.Namespace, p.Name)
			continue
		} else if again == 1 {
			namespace := p.Namespace
			p = m.policy(i)
			p.Namespace = namespace
			set.Set(p)
		}
		n.policies = append(n.policies, p)
	}
	if set.Len() != len(n.policies) {
		t.Fatalf("the set has %d policies, want %d", set.Len(), len(n.policies))
	}
	peers := make([]policy.Peer, 8)
	for i := range peers {
		peers[i] = m.peer(i)
	}
	for _, from := range peers {
		for _, to := range peers {
			for port := int32(79); port < 85; port++ {
				f := &policy.Flow{From: from, To: to, Protocol: pick(m, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP), Port: port}
				check(t, seed, f, &set, n)
			}
		}
	}
}

func check(t *testing.T, seed uint64, f *policy.Flow, set *policy.Set, n *naive) {
	t.Helper()
	got := set.Decide(f)
	out, in, allowed := n.decide(f)
	same := func(side *policy.Side, want naiveSide) bool {
		var names []string
		for _, ref := range side.Selected {
			names = append(names, ref.Name)
		}
		return slices.Equal(names, want.selected) && side.Allowed() == want.allowed && (want.allowed || len(side.Denials) == len(names)) && (side.By == nil || slices.Contains(side.Selected, side.By.Policy))
	}
	if got.Allowed() != allowed || !same(&got.Egress, out) || !same(&got.Ingress, in) {
		t.Fatalf("seed %d: %+v:\ngot %v %+v\nwant %v, egress %+v, ingress %+v", seed, *f, got.Allowed(), got, allowed, out, in)
	}
}

func TestDecisionsAreThoseOfTheDocumentation(t *testing.T) {
	for seed := range uint64(2000) {
		compare(t, seed)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(compare)
}

// A decision looks only at the policies that may select the pods.
func BenchmarkDecide(b *testing.B) {
	for _, policies := range []int{10, 1000} {
		b.Run(fmt.Sprintf("policies=%d", policies), func(b *testing.B) {
			var set policy.Set
			set.SetNamespace("x", nil)
			for i := range policies {
				p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprintf("p%d", i)}}
				app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("a%d", i), "tier": "backend"}}
				p.Spec.PodSelector = *app
				p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: app}}}}
				set.Set(p)
			}
			pod := func(i byte) policy.Peer {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Labels: map[string]string{"app": "a3", "tier": "backend"}}}
				return policy.Peer{Address: netip.AddrFrom4([4]byte{10, 0, 0, i}), Pod: pod}
			}
			f := &policy.Flow{From: pod(1), To: pod(2), Protocol: corev1.ProtocolTCP, Port: 80}
			for b.Loop() {
				if v := set.Decide(f); !v.Allowed() || len(v.Ingress.Selected) != 1 {
					b.Fatal(v)
				}
			}
		})
	}
}
