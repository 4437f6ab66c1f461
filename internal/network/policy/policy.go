package policy

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Peer is one end of a connection.
type Peer struct {
	// Address is the address that the packets have.
	Address netip.Addr
	// Pod is the pod that has the address; nil: no pod has.
	Pod *corev1.Pod
	// Node is the node that has the address; empty for all other addresses, also for those of pods.
	Node string
}

// onNode returns the node that the peer is on; empty if it is on none.
func (p *Peer) onNode() string {
	if p.Pod != nil {
		return p.Pod.Spec.NodeName
	}
	return p.Node
}

// selectable returns the pod that selectors may select; nil if there is none.
func (p *Peer) selectable() *corev1.Pod {
	if p.Pod == nil || p.Pod.Spec.HostNetwork {
		return nil
	}
	return p.Pod
}

// Flow is a connection, after a Service's address has been replaced by an endpoint's.
type Flow struct {
	From, To Peer
	Protocol corev1.Protocol
	// Port is the port of To.
	Port int32
}

// Exemption is a reason why policies do not apply to a connection.
type Exemption string

// The exemptions. No policy can deny these connections.
const (
	// Itself is a connection of a pod to itself.
	Itself Exemption = "a pod reaches itself"
	// OwnNode is a connection between a pod and the node that it runs on, such as the kubelet's probes.
	OwnNode Exemption = "a pod and its own node reach each other"
	// ControlPlane is a connection that the API server makes.
	ControlPlane Exemption = "policies do not meet calls of the API server"
)

// Verdict is what the policies say of a connection.
type Verdict struct {
	Exempt Exemption
	Egress Side
	// Ingress is decided also if Egress denies the connection.
	Ingress Side
}

// Allowed reports whether both sides allow the connection.
func (v *Verdict) Allowed() bool { return v.Exempt != "" || v.Egress.Allowed() && v.Ingress.Allowed() }

// Side is the decision for one end of the connection.
type Side struct {
	// Selected are the policies that select the pod for the direction, sorted by name. Without one, the pod is not
	// isolated, and everything is allowed.
	Selected []Ref
	// By is the first rule that allows the connection; nil if there is none or if none is needed.
	By *Rule
	// Denials says of each policy in Selected why it does not allow the connection; nil if it is allowed.
	Denials []Denial
	// Cluster is the rule of a cluster-wide policy that decides; nil if none does. One of the tier Admin decides before the
	// policies in Selected, which it then leaves empty.
	Cluster *ClusterRule
}

// Allowed reports whether the side allows the connection.
func (s *Side) Allowed() bool {
	if s.Cluster != nil {
		return s.Cluster.Action == Accept
	}
	return len(s.Selected) == 0 || s.By != nil
}

// Ref names a policy.
type Ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns NAMESPACE/NAME.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Rule is a rule of a policy, as an index in its list. Peer and Port are the indexes of the entries in From or To and
// Ports that match; -1 if the rule has no such list, so that it matches everything.
type Rule struct {
	Policy Ref `json:"policy"`
	Rule   int `json:"rule"`
	Peer   int `json:"peer"`
	Port   int `json:"port"`
}

// Denial is why a policy does not allow a connection.
type Denial struct {
	Policy Ref    `json:"policy"`
	Why    string `json:"why"`
}

// Set holds NetworkPolicies, cluster-wide policies, and the labels of namespaces and nodes. The zero value is empty. It must not be
// changed while it is read.
type Set struct {
	spaces            map[string]*space
	tiers             map[Tier]*filing[*ClusterPolicy]
	namespaces, nodes map[string]labels.Set
}

// space holds the policies of one namespace.
type space struct {
	filing[*compiled]
	byName map[string]*compiled
}

// SetNamespace sets the labels of a namespace.
func (s *Set) SetNamespace(name string, of map[string]string) {
	if s.namespaces == nil {
		s.namespaces = map[string]labels.Set{}
	}
	s.namespaces[name] = of
}

// DeleteNamespace forgets the labels of a namespace.
func (s *Set) DeleteNamespace(name string) { delete(s.namespaces, name) }

// HasNamespace reports whether the labels of a namespace are known.
func (s *Set) HasNamespace(name string) bool {
	_, ok := s.namespaces[name]
	return ok
}

// Len returns the number of policies.
func (s *Set) Len() int {
	n := 0
	for _, sp := range s.spaces {
		n += len(sp.byName)
	}
	return n
}

// Set adds a policy, or replaces the one of the same name.
func (s *Set) Set(policy *networkingv1.NetworkPolicy) {
	s.Delete(policy.Namespace, policy.Name)
	sp := s.spaces[policy.Namespace]
	if sp == nil {
		sp = &space{byName: map[string]*compiled{}}
		if s.spaces == nil {
			s.spaces = map[string]*space{}
		}
		s.spaces[policy.Namespace] = sp
	}
	c := compile(policy)
	sp.byName[policy.Name] = c
	c.filed = sp.add(c, requiredLabels(c.pods))
}

// Delete removes a policy.
func (s *Set) Delete(namespace, name string) {
	sp := s.spaces[namespace]
	if sp == nil || sp.byName[name] == nil {
		return
	}
	c := sp.byName[name]
	delete(sp.byName, name)
	sp.remove(c, c.filed)
	if len(sp.byName) == 0 {
		delete(s.spaces, namespace)
	}
}

// Decide says what the policies say of a connection.
func (s *Set) Decide(f *Flow) Verdict {
	var v Verdict
	switch from, to := f.From.onNode(), f.To.onNode(); {
	case f.From.selectable() != nil && f.From.selectable() == f.To.selectable(), f.From.Address.IsValid() && f.From.Address == f.To.Address:
		v.Exempt = Itself
	case from != "" && from == to && (f.From.selectable() == nil || f.To.selectable() == nil):
		v.Exempt = OwnNode
	}
	v.Egress, v.Ingress = s.side(f, egress), s.side(f, ingress)
	return v
}

// side decides for the end of the connection at which a direction is ruled.
func (s *Set) side(f *Flow, d direction) Side {
	own, other := &f.From, &f.To
	if d == ingress {
		own, other = other, own
	}
	pod := own.selectable()
	if pod == nil {
		return Side{}
	}
	if rule := s.decideTier(Admin, pod, f, d, other); rule != nil {
		return Side{Cluster: rule}
	}
	var side Side
	selecting := s.selecting(pod, d)
	if len(selecting) == 0 {
		side.Cluster = s.decideTier(Baseline, pod, f, d, other)
	}
	for _, c := range selecting {
		side.Selected = append(side.Selected, c.ref)
		if side.By == nil {
			side.By = c.allows(f, d, other, s.namespaces)
		}
	}
	if !side.Allowed() {
		for _, c := range selecting {
			side.Denials = append(side.Denials, Denial{Policy: c.ref, Why: c.why(f, d, other, s.namespaces)})
		}
	}
	return side
}

// selecting returns the policies that select a pod for a direction, sorted by name.
func (s *Set) selecting(pod *corev1.Pod, d direction) []*compiled {
	if s.spaces[pod.Namespace] == nil {
		return nil
	}
	found := s.spaces[pod.Namespace].find(pod, func(c *compiled) bool { return c.directions[d] && c.pods.Matches(labels.Set(pod.Labels)) })
	slices.SortFunc(found, func(a, b *compiled) int { return strings.Compare(a.ref.Name, b.ref.Name) })
	return found
}
