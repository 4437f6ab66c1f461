package policy_test

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/network/policy"
)

func peerOf(namespace, app, node string, last byte) policy.Peer {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app, Labels: map[string]string{"app": app}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}
	return policy.Peer{Address: netip.AddrFrom4([4]byte{10, 244, 0, last}), Pod: pod}
}

// say is a verdict in words.
func say(v policy.Verdict) string {
	if v.Exempt != "" {
		return string(v.Exempt)
	}
	for _, side := range []struct {
		name string
		policy.Side
	}{{"egress", v.Egress}, {"ingress", v.Ingress}} {
		if !side.Allowed() {
			return fmt.Sprintf("%s denied: %s %s", side.name, side.Denials[0].Policy, side.Denials[0].Why)
		}
		if side.By != nil {
			return fmt.Sprintf("%s allowed by %s[%d] peer %d port %d", side.name, side.By.Policy, side.By.Rule, side.By.Peer, side.By.Port)
		}
	}
	return "allowed"
}

func TestVerdicts(t *testing.T) {
	client, web, other := peerOf("shop", "client", "n0", 2), peerOf("shop", "web", "n1", 3), peerOf("bank", "client", "n0", 4)
	outside := policy.Peer{Address: netip.MustParseAddr("203.0.113.7")}
	own, far := policy.Peer{Address: netip.MustParseAddr("172.18.0.3"), Node: "n1"}, policy.Peer{Address: netip.MustParseAddr("172.18.0.2"), Node: "n0"}
	host := peerOf("shop", "client", "n0", 9)
	host.Address, host.Pod.Spec.HostNetwork = far.Address, true
	for _, c := range []struct {
		name, spec string
		from, to   policy.Peer
		port       int32
		protocol   corev1.Protocol
		want       string
	}{
		{name: "no policy", spec: "podSelector: {matchLabels: {app: other}}", from: client, to: web, want: "allowed"},
		{name: "default deny", spec: "podSelector: {}", from: client, to: web, want: "ingress denied: shop/p it has no ingress rule, and so denies everything"},
		{name: "default deny of egress", spec: "{podSelector: {}, policyTypes: [Egress]}", from: client, to: outside, want: "egress denied: shop/p it has no egress rule, and so denies everything"},
		{name: "the types follow from the rules", spec: "{podSelector: {}, egress: [{}]}", from: client, to: web, want: "egress allowed by shop/p[0] peer -1 port -1"},
		{name: "to itself", spec: "podSelector: {}", from: web, to: web, want: "a pod reaches itself"},
		{name: "the own node", spec: "podSelector: {}", from: own, to: web, want: "a pod and its own node reach each other"},
		{name: "to the own node", spec: "{podSelector: {}, policyTypes: [Egress]}", from: web, to: own, want: "a pod and its own node reach each other"},
		{name: "another node", spec: "podSelector: {}", from: far, to: web, want: "ingress denied: shop/p it has no ingress rule, and so denies everything"},
		{name: "a pod of the host network is its node", spec: "{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}", from: host, to: web, want: "ingress denied: shop/p ingress[0] does not have the peer in from"},
		{name: "the address of a pod of the host network", spec: "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 172.18.0.0/16}}]}]}", from: host, to: web, want: "ingress allowed by shop/p[0] peer 0 port -1"},
		{name: "selected pods of the own namespace", spec: "{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: client}}}]}]}", from: other, to: web, want: "ingress denied: shop/p ingress[0] does not have the peer in from"},
		{name: "pods of selected namespaces", spec: "{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: client}}, namespaceSelector: {matchLabels: {team: money}}}]}]}", from: other, to: web, want: "ingress allowed by shop/p[0] peer 0 port -1"},
		{name: "a block without the address", spec: "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 203.0.113.0/24, except: [203.0.113.0/29]}}]}]}", from: outside, to: web, want: "ingress denied: shop/p ingress[0] does not have the peer in from (the ipBlock 203.0.113.0/24 has 203.0.113.0/29 in except)"},
		{name: "a port", spec: "{podSelector: {}, ingress: [{ports: [{port: 443}, {port: 8000, endPort: 8080}]}]}", from: client, to: web, want: "ingress allowed by shop/p[0] peer -1 port 1"},
		{name: "a named port", spec: "{podSelector: {}, ingress: [{ports: [{port: http}]}]}", from: client, to: web, want: "ingress allowed by shop/p[0] peer -1 port 0"},
		{name: "a named port of another protocol", spec: "{podSelector: {}, ingress: [{ports: [{port: http, protocol: UDP}]}]}", from: client, to: web, protocol: corev1.ProtocolUDP, want: "ingress denied: shop/p ingress[0] has the peer, but not UDP 8080 in ports"},
		{name: "neither", spec: "{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: x}}}], ports: [{port: 1}]}]}", from: client, to: web, want: "ingress denied: shop/p ingress[0] has neither the peer in from nor TCP 8080 in ports"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
			if err := yaml.UnmarshalStrict([]byte(c.spec), &p.Spec); err != nil {
				t.Fatal(err)
			}
			var set policy.Set
			set.SetNamespace("shop", nil)
			set.SetNamespace("bank", map[string]string{"team": "money"})
			set.Set(p)
			f := policy.Flow{From: c.from, To: c.to, Port: 8080, Protocol: corev1.ProtocolTCP}
			if c.protocol != "" {
				f.Protocol = c.protocol
			}
			if got := say(set.Decide(&f)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
