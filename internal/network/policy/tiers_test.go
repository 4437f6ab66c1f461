package policy_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/internal/network/policy"
)

// wide is a ClusterNetworkPolicy as the generator makes it.
type wide struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Tier     policy.Tier `json:"tier"`
		Priority int         `json:"priority"`
		Subject  widePeer    `json:"subject"`
		Ingress  []wideRule  `json:"ingress,omitempty"`
		Egress   []wideRule  `json:"egress,omitempty"`
	} `json:"spec"`
}

type wideRule struct {
	Action    policy.Action  `json:"action"`
	From      []widePeer     `json:"from,omitempty"`
	To        []widePeer     `json:"to,omitempty"`
	Protocols []wideProtocol `json:"protocols,omitempty"`
}

type widePeer struct {
	Namespaces *metav1.LabelSelector `json:"namespaces,omitempty"`
	Pods       *widePods             `json:"pods,omitempty"`
	Nodes      *metav1.LabelSelector `json:"nodes,omitempty"`
	Networks   []string              `json:"networks,omitempty"`
}

type widePods struct {
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	PodSelector       *metav1.LabelSelector `json:"podSelector"`
}

type wideProtocol struct {
	TCP   *widePort `json:"tcp,omitempty"`
	UDP   *widePort `json:"udp,omitempty"`
	Named string    `json:"destinationNamedPort,omitempty"`
}

type widePort struct {
	DestinationPort struct {
		Number int32      `json:"number,omitempty"`
		Range  *wideRange `json:"range,omitempty"`
	} `json:"destinationPort"`
}

type wideRange struct {
	Start int32 `json:"start"`
	End   int32 `json:"end"`
}

func (m maker) widePeer(i int, isEgress bool) widePeer {
	switch n := m.IntN(8); {
	case n == 0 && isEgress:
		return widePeer{Nodes: m.selector()}
	case n == 1 && isEgress:
		return widePeer{Networks: []string{pick(m, "10.0.0.0/24", "10.0.0.0/30", "0.0.0.0/0", "fd00::/64")}}
	case n == 2:
		return widePeer{Namespaces: m.selector()}
	}
	return widePeer{Pods: &widePods{m.selector(), m.selector()}}
}

func (m maker) wideRules(isEgress bool) []wideRule {
	var rules []wideRule
	for i := range m.IntN(3) {
		r := wideRule{Action: pick(m, policy.Accept, policy.Deny, policy.Pass)}
		for range 1 + m.IntN(2) {
			if isEgress {
				r.To = append(r.To, m.widePeer(i, true))
			} else {
				r.From = append(r.From, m.widePeer(i, false))
			}
		}
		for range m.IntN(2) {
			var p wideProtocol
			port := &widePort{}
			if port.DestinationPort.Number = int32(80 + m.IntN(4)); m.IntN(2) == 0 {
				port.DestinationPort.Number, port.DestinationPort.Range = 0, &wideRange{80, int32(81 + m.IntN(3))}
			}
			switch m.IntN(3) {
			case 0:
				p.TCP = port
			case 1:
				p.UDP = port
			default:
				p.Named = pick(m, "http", "dns")
			}
			r.Protocols = append(r.Protocols, p)
		}
		rules = append(rules, r)
	}
	return rules
}

func (m maker) wide(i int) *wide {
	w := &wide{Metadata: metav1.ObjectMeta{Name: fmt.Sprintf("w%d", i)}}
	w.Spec.Tier, w.Spec.Priority, w.Spec.Subject = pick(m, policy.Admin, policy.Baseline), m.IntN(3), m.widePeer(i, false)
	w.Spec.Ingress, w.Spec.Egress = m.wideRules(false), m.wideRules(true)
	return w
}

// wider adds cluster-wide policies to naive: it asks the tiers one after the other, by the text of the API's documentation.
type wider struct {
	*naive
	wide  []*wide
	nodes map[string]map[string]string
}

func (w *wider) allows(f *policy.Flow) bool {
	return w.exempt(f) || w.allowsSide(f, true) && w.allowsSide(f, false)
}

func (w *wider) allowsSide(f *policy.Flow, isEgress bool) bool {
	self, other := f.To, f.From
	if isEgress {
		self, other = other, self
	}
	if self.Pod == nil || self.Pod.Spec.HostNetwork {
		return true
	}
	if action := w.tier(policy.Admin, self, other, f, isEgress); action != policy.Pass {
		return action == policy.Accept
	}
	if side := w.side(f, isEgress); len(side.selected) > 0 {
		return side.allowed
	}
	return w.tier(policy.Baseline, self, other, f, isEgress) != policy.Deny
}

func (w *wider) tier(tier policy.Tier, self, other policy.Peer, f *policy.Flow, isEgress bool) policy.Action {
	ordered := slices.Clone(w.wide)
	slices.SortFunc(ordered, func(a, b *wide) int {
		return cmp.Or(a.Spec.Priority-b.Spec.Priority, cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	for _, p := range ordered {
		if p.Spec.Tier != tier || !w.matchesPeer(p.Spec.Subject, self) {
			continue
		}
		rules := p.Spec.Ingress
		if isEgress {
			rules = p.Spec.Egress
		}
		for _, r := range rules {
			peer, port := false, len(r.Protocols) == 0
			for _, of := range slices.Concat(r.From, r.To) {
				peer = peer || w.matchesPeer(of, other)
			}
			for _, of := range r.Protocols {
				port = port || w.matchesProtocol(of, f)
			}
			if peer && port {
				return r.Action
			}
		}
	}
	return policy.Pass
}

func (w *wider) matchesPeer(p widePeer, of policy.Peer) bool {
	for _, network := range p.Networks {
		if netip.MustParsePrefix(network).Contains(of.Address) {
			return true
		}
	}
	if of.Pod == nil || of.Pod.Spec.HostNetwork {
		name := of.Node
		if of.Pod != nil {
			name = of.Pod.Spec.NodeName
		}
		return p.Nodes != nil && name != "" && selects(p.Nodes, w.nodes[name])
	}
	labels, known := w.namespaces[of.Pod.Namespace]
	switch {
	case !known:
		return false
	case p.Namespaces != nil:
		return selects(p.Namespaces, labels)
	}
	return p.Pods != nil && selects(p.Pods.NamespaceSelector, labels) && selects(p.Pods.PodSelector, of.Pod.Labels)
}

func (w *wider) matchesProtocol(p wideProtocol, f *policy.Flow) bool {
	in := func(port *widePort) bool {
		if r := port.DestinationPort.Range; r != nil {
			return r.Start <= f.Port && f.Port <= r.End
		}
		return port.DestinationPort.Number == f.Port
	}
	switch {
	case p.TCP != nil:
		return f.Protocol == corev1.ProtocolTCP && in(p.TCP)
	case p.UDP != nil:
		return f.Protocol == corev1.ProtocolUDP && in(p.UDP)
	}
	if f.To.Pod == nil || f.To.Pod.Spec.HostNetwork {
		return false
	}
	return slices.ContainsFunc(f.To.Pod.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool {
		return c.Name == p.Named && c.ContainerPort == f.Port && c.Protocol == f.Protocol
	})
}

// compareTiers is compare for clusters that have cluster-wide policies, too.
func compareTiers(t *testing.T, seed uint64) {
	m := maker{rand.New(rand.NewPCG(seed, 1))}
	w := &wider{naive: &naive{namespaces: map[string]map[string]string{}}, nodes: map[string]map[string]string{}}
	var set policy.Set
	for _, name := range []string{"x", "y"} {
		w.namespaces[name] = m.labels()
		set.SetNamespace(name, w.namespaces[name])
	}
	for _, name := range []string{"n0", "n1"} {
		w.nodes[name] = m.labels()
		set.SetNode(name, w.nodes[name])
	}
	for i := range m.IntN(3) {
		p := m.policy(i)
		set.Set(p)
		w.policies = append(w.policies, p)
	}
	var parsed []*policy.ClusterPolicy
	for i := range m.IntN(6) {
		w.wide = append(w.wide, m.wide(i))
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.wide[i])
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.ParseCluster(object)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, p)
	}
	set.SetClusterPolicies(parsed)
	peers := make([]policy.Peer, 8)
	for i := range peers {
		peers[i] = m.peer(i)
	}
	for _, from := range peers {
		for _, to := range peers {
			for port := int32(79); port < 85; port++ {
				f := &policy.Flow{From: from, To: to, Protocol: pick(m, corev1.ProtocolTCP, corev1.ProtocolUDP), Port: port}
				if got := set.Decide(f); got.Allowed() != w.allows(f) {
					t.Fatalf("seed %d: %+v: %v, want %v: %+v", seed, *f, got.Allowed(), w.allows(f), got)
				}
			}
		}
	}
}

func TestTiersAreThoseOfTheDocumentation(t *testing.T) {
	for seed := range uint64(500) {
		compareTiers(t, seed)
	}
}

func FuzzTiers(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(compareTiers)
}

// A rule with a part that this version does not know fails closed, and what cannot be a policy is refused.
func TestClusterPoliciesOfOtherVersions(t *testing.T) {
	object := func(rule map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "w"}, "spec": map[string]any{
			"tier": "Admin", "priority": int64(1), "subject": map[string]any{"namespaces": map[string]any{}}, "egress": []any{rule},
		}}
	}
	pod := func(name string, last byte) policy.Peer {
		return policy.Peer{Address: netip.AddrFrom4([4]byte{10, 0, 0, last}), Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}}
	}
	for action, allowed := range map[string]bool{"Accept": true, "Deny": false, "Pass": false} {
		for _, rule := range []map[string]any{
			{"action": action, "to": []any{map[string]any{"planets": "mars"}}},
			{"action": action, "to": []any{map[string]any{"namespaces": map[string]any{}}}, "protocols": []any{map[string]any{"quic": map[string]any{}}}},
		} {
			p, err := policy.ParseCluster(object(rule))
			if err != nil {
				t.Fatal(err)
			}
			var set policy.Set
			set.SetNamespace("x", nil)
			set.SetClusterPolicies([]*policy.ClusterPolicy{p})
			v := set.Decide(&policy.Flow{From: pod("a", 1), To: pod("b", 2), Protocol: corev1.ProtocolTCP, Port: 80})
			if v.Allowed() != allowed || allowed != (v.Egress.Cluster == nil) {
				t.Errorf("%v: %+v, want allowed %v", rule, v, allowed)
			}
		}
	}
	for _, bad := range []map[string]any{
		{"action": "Shrug", "to": []any{}},
		{"action": "Deny", "to": []any{map[string]any{"networks": []any{"10.0.0.0"}}}},
		{"action": "Deny", "to": "everything"},
	} {
		if _, err := policy.ParseCluster(object(bad)); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
