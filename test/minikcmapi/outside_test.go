package minikcmapi

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/outside"
)

// outcomeAt connects to an address of the machine and says how that ends.
func outcomeAt(t *testing.T, address string, denied bool) reach.Outcome {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil { // the reset may come first
		return reach.Refused
	}
	defer conn.Close() // the answer has been read
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	wait := time.Minute
	if denied { // no answer comes: it would be here by now
		wait = 200 * time.Millisecond
	}
	_ = conn.SetReadDeadline(clock.Real().Now().Add(wait))
	answer, err := io.ReadAll(conn)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return reach.TimedOut
	case strings.HasPrefix(string(answer), "HTTP/1.0 200 "):
		return reach.Connected
	}
	return reach.Refused
}

// Reach says of a connection from outside how a connection to the published port ends.
func TestReachFromOutside(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Publish: true})
	ports := func(s *corev1.Service) { s.Spec.Ports[0].Name = "http" }
	local := func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }
	ranges := func(text string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{text} }
	}
	block := func(cidr string, except ...string) *networkingv1.IPBlock {
		return &networkingv1.IPBlock{CIDR: cidr, Except: except}
	}
	const balancer, node = corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort
	for _, tt := range []struct {
		name   string
		kind   corev1.ServiceType
		change func(*corev1.Service)
		allow  *networkingv1.IPBlock
		none   bool
		port   string
		want   reach.Outcome
		says   string
	}{
		{name: "lb", kind: balancer, change: ports, port: ":http", want: reach.Connected, says: "by its load balancer "},
		{name: "lb-ranges", kind: balancer, change: ranges("203.0.113.0/24"), want: reach.TimedOut, says: "172.18.0.1 is not in loadBalancerSourceRanges"},
		{name: "lb-in-ranges", kind: balancer, change: ranges("172.18.0.0/16"), want: reach.Connected, says: "by its load balancer "},
		{name: "lb-none", kind: balancer, none: true, want: reach.Refused, says: "it has no endpoints"},
		{name: "lb-local", kind: balancer, change: local, want: reach.Connected, says: "its traffic policy is Local"},
		{name: "lb-local-block", kind: balancer, change: local, allow: block("172.18.0.0/16", "172.18.0.1/32"), want: reach.TimedOut, says: "ingress[0] does not have the peer in from (the ipBlock 172.18.0.0/16 has 172.18.0.1/32 in except)"},
		{name: "lb-local-allowed", kind: balancer, change: local, allow: block("172.18.0.1/32"), want: reach.Connected, says: "ingress   allowed by NetworkPolicy default/lb-local-allowed"},
		{name: "lb-block", kind: balancer, allow: block("172.18.0.1/32"), want: reach.TimedOut, says: "source    the endpoint sees 172.18.0."},
		{name: "node", kind: node, change: ports, port: ":http", want: reach.Connected, says: "by its node port of any node"},
		{name: "node-none", kind: node, none: true, want: reach.Refused, says: "it has no endpoints"},
		{name: "node-local", kind: node, change: local, allow: block("10.0.0.0/8"), want: reach.TimedOut, says: "ingress[0] does not have the peer in from\n"},
	} {
		if !tt.none {
			m.pod(tt.name, nil)
		}
		m.service(tt.name, tt.kind, tt.change)
		if tt.allow != nil {
			allow := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: tt.name}, Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": tt.name}},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: tt.allow}}}},
			}}
			if _, err := m.Client().NetworkingV1().NetworkPolicies("default").Create(t.Context(), allow, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		m.pass(5 * time.Second)
		report, err := m.Kubelets().Reach(t.Context(), &reach.Ask{From: "outside", To: "svc/" + tt.name + tt.port})
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != tt.want || !strings.Contains(report.Text(), tt.says) {
			t.Errorf("%s: want %s and %q:\n%s", tt.name, tt.want, tt.says, report.Text())
		}
		for _, p := range m.entrances().Services {
			if p.Service != tt.name || p.NodePort != (tt.kind == node) {
				continue
			}
			if got := outcomeAt(t, p.Address, tt.want == reach.TimedOut); got != tt.want {
				t.Errorf("%s: a connection to %s: %s, want %s", tt.name, p.Address, got, tt.want)
			}
		}
	}
	m.service("inside", corev1.ServiceTypeClusterIP, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("http") })
	m.pass(time.Second)
	for question, want := range map[reach.Ask]string{
		{From: "outside", To: "svc/inside"}:         "no: the outside does not reach service default/inside:8081: Network is unreachable: the Service default/inside has no address outside of the cluster: its type is ClusterIP\n",
		{From: "outside", To: "svc/lb:metrics"}:     `a port "metrics" of service default/lb not found: it has http (8081)`,
		{From: "pod/lb", To: "svc/lb-none:http"}:    `a port "http" of service default/lb-none not found: its ports have no names`,
		{From: "pod/lb", To: "lb:http"}:             "yes: pod default/lb reaches lb:8081\n",
		{From: "pod/lb", To: "pod/node", Port: "x"}: `a port "x" of pod default/node not found: its ports have no names`,
	} {
		got := ""
		if report, err := m.Kubelets().Reach(t.Context(), &question); err != nil {
			got = err.Error()
		} else {
			got = report.Text()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s to %s: got %s, want %s", question.From, question.To, got, want)
		}
	}
}
