package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The kind of cluster-wide policies (https://network-policy-api.sigs.k8s.io), whose definition users install.
const (
	ClusterKind     = "ClusterNetworkPolicy"
	ClusterGroup    = "policy.networking.k8s.io"
	ClusterResource = "clusternetworkpolicies"
)

// ClusterVersions are the versions of the kind that can be read, the best one first. They have equal fields.
func ClusterVersions() []string { return []string{"v1beta1", "v1alpha2"} }

// Tier is a group of cluster-wide policies. The tier Admin is asked before NetworkPolicies; the tier Baseline after them, about
// pods that no NetworkPolicy selects.
type Tier string

// The tiers.
const (
	Admin    Tier = "Admin"
	Baseline Tier = "Baseline"
)

// Action is the effect of a rule of a cluster-wide policy.
type Action string

// The actions. Pass leaves the decision to the next tier.
const (
	Accept Action = "Accept"
	Deny   Action = "Deny"
	Pass   Action = "Pass"
)

// ClusterRule is the rule of a cluster-wide policy that decides, as an index in its list.
type ClusterRule struct {
	Policy string `json:"policy"`
	Tier   Tier   `json:"tier"`
	Rule   int    `json:"rule"`
	// Name is the rule's; it may be empty.
	Name   string `json:"name,omitempty"`
	Action Action `json:"action"`
}

// The fields of the API that decisions depend on.
type (
	clusterObject struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Tier     Tier              `json:"tier"`
			Priority int32             `json:"priority"`
			Subject  clusterPeer       `json:"subject"`
			Ingress  []clusterRuleSpec `json:"ingress"`
			Egress   []clusterRuleSpec `json:"egress"`
		} `json:"spec"`
	}
	clusterRuleSpec struct {
		Name      string            `json:"name"`
		Action    Action            `json:"action"`
		From      []clusterPeer     `json:"from"`
		To        []clusterPeer     `json:"to"`
		Protocols []clusterProtocol `json:"protocols"`
	}
	clusterPeer struct {
		Namespaces *metav1.LabelSelector `json:"namespaces"`
		Pods       *struct {
			NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
			PodSelector       metav1.LabelSelector `json:"podSelector"`
		} `json:"pods"`
		Nodes       *metav1.LabelSelector `json:"nodes"`
		Networks    []string              `json:"networks"`
		DomainNames []string              `json:"domainNames"`
	}
	clusterProtocol struct {
		TCP                  *clusterPort `json:"tcp"`
		UDP                  *clusterPort `json:"udp"`
		SCTP                 *clusterPort `json:"sctp"`
		DestinationNamedPort string       `json:"destinationNamedPort"`
	}
	clusterPort struct {
		DestinationPort *struct {
			Number int32 `json:"number"`
			Range  *struct {
				Start int32 `json:"start"`
				End   int32 `json:"end"`
			} `json:"range"`
		} `json:"destinationPort"`
	}
)

// ClusterPolicy is a cluster-wide policy, compiled.
type ClusterPolicy struct {
	name     string
	tier     Tier
	priority int32
	subject  clusterSelection
	rules    [directions][]clusterRule
}

type clusterRule struct {
	name   string
	action Action
	peers  []clusterSelection
	// ports are nil if every port matches.
	ports []port
	// unknown means that the rule has a peer or protocol of a kind that this version does not know: the API wants such a rule to
	// fail closed.
	unknown bool
}

// clusterSelection selects pods, nodes or addresses.
type clusterSelection struct {
	// namespaces and pods are nil if no pod is selected, nodes is nil if no node is.
	namespaces, pods, nodes labels.Selector
	networks                []netip.Prefix
}

// ParseCluster compiles a cluster-wide policy.
func ParseCluster(object map[string]any) (*ClusterPolicy, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	var given clusterObject
	if err := json.Unmarshal(data, &given); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	spec := &given.Spec
	if spec.Tier != Admin && spec.Tier != Baseline {
		return nil, fmt.Errorf("spec.tier: %q is neither %s nor %s", spec.Tier, Admin, Baseline)
	}
	p := &ClusterPolicy{name: given.Metadata.Name, tier: spec.Tier, priority: spec.Priority}
	if p.subject, err = spec.Subject.compile(); err != nil {
		return nil, fmt.Errorf("spec.subject: %w", err)
	}
	for d, list := range [directions][]clusterRuleSpec{ingress: spec.Ingress, egress: spec.Egress} {
		for i := range list {
			r, err := list[i].compile()
			if err != nil {
				return nil, fmt.Errorf("spec.%s[%d]: %w", direction(d), i, err)
			}
			p.rules[d] = append(p.rules[d], r)
		}
	}
	return p, nil
}

func (s *clusterRuleSpec) compile() (clusterRule, error) {
	r := clusterRule{name: s.Name, action: s.Action}
	if s.Action != Accept && s.Action != Deny && s.Action != Pass {
		return r, fmt.Errorf("action: %q is none of %s, %s and %s", s.Action, Accept, Deny, Pass)
	}
	for _, given := range slices.Concat(s.From, s.To) {
		peer, err := given.compile()
		if err != nil {
			return r, err
		}
		r.unknown = r.unknown || given.isEmpty()
		r.peers = append(r.peers, peer)
	}
	for i := range s.Protocols {
		p, known := s.Protocols[i].compile()
		r.unknown = r.unknown || !known
		r.ports = append(r.ports, p)
	}
	return r, nil
}

// isEmpty reports whether the peer has no field that is known.
func (p *clusterPeer) isEmpty() bool {
	return p.Namespaces == nil && p.Pods == nil && p.Nodes == nil && p.Networks == nil && p.DomainNames == nil
}

func (p *clusterPeer) compile() (clusterSelection, error) {
	var s clusterSelection
	var err error
	compile := func(into *labels.Selector, of *metav1.LabelSelector) {
		if parsed, invalid := metav1.LabelSelectorAsSelector(of); invalid != nil {
			err = invalid
		} else {
			*into = parsed
		}
	}
	switch {
	case p.Namespaces != nil:
		s.pods = labels.Everything()
		compile(&s.namespaces, p.Namespaces)
	case p.Pods != nil:
		compile(&s.namespaces, &p.Pods.NamespaceSelector)
		compile(&s.pods, &p.Pods.PodSelector)
	case p.Nodes != nil:
		compile(&s.nodes, p.Nodes)
	}
	for _, text := range p.Networks {
		network, invalid := netip.ParsePrefix(text)
		if invalid != nil {
			return s, fmt.Errorf("networks: %w", invalid)
		}
		s.networks = append(s.networks, network.Masked())
	}
	return s, err
}

// compile returns the ports that match, and whether the fields are known.
func (p *clusterProtocol) compile() (port, bool) {
	var protocol corev1.Protocol
	given := cmp.Or(p.TCP, p.UDP, p.SCTP)
	switch {
	case p.DestinationNamedPort != "":
		return port{name: p.DestinationNamedPort}, true
	case p.TCP != nil:
		protocol = corev1.ProtocolTCP
	case p.UDP != nil:
		protocol = corev1.ProtocolUDP
	case p.SCTP != nil:
		protocol = corev1.ProtocolSCTP
	default:
		return port{}, false
	}
	compiled := port{protocol: protocol}
	if to := given.DestinationPort; to != nil {
		compiled.first, compiled.last = to.Number, to.Number
		if to.Range != nil {
			compiled.first, compiled.last = to.Range.Start, to.Range.End
		}
	}
	return compiled, true
}
