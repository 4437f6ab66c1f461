package services_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/network/services"
)

// slice makes an EndpointSlice of lines such as "10.0.0.1 n0 ready zone=a node=n0".
func slice(name string, lines ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](8080)}, {Name: ptr.To("dns"), Protocol: ptr.To(corev1.ProtocolUDP), Port: ptr.To[int32](53)}},
	}
	for _, line := range lines {
		words := strings.Fields(line)
		e := discoveryv1.Endpoint{Addresses: words[:1], NodeName: &words[1], Hints: &discoveryv1.EndpointHints{}}
		e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(words[2] == "ready"), Serving: ptr.To(words[2] != "unready"), Terminating: ptr.To(words[2] == "leaving")}
		for _, word := range words[3:] {
			if zone, ok := strings.CutPrefix(word, "zone="); ok {
				e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: zone})
			}
			if node, ok := strings.CutPrefix(word, "node="); ok {
				e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: node})
			}
		}
		if strings.Contains(words[0], ":") {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func service(t *testing.T, text string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	s.Namespace, s.Name = "shop", "web"
	return s
}

func describe(c services.Choice) string {
	var names []string
	for i := range c.Candidates {
		names = append(names, c.Candidates[i].Address.Addr().String())
	}
	text := string(c.Result) + " " + strings.Join(names, " ")
	if c.Masquerade {
		text += " masqueraded"
	}
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

const ports = "ports: [{name: http, port: 80, nodePort: 30080}, {name: dns, port: 53, protocol: UDP}]"

func TestChoices(t *testing.T) {
	inside, outside := "10.244.0.9", "203.0.113.7"
	lb := "{spec: {type: LoadBalancer, clusterIP: 10.96.0.7, " + ports + ", %s}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: VIP}]}}}"
	two := []string{"10.0.0.1 n0 ready", "10.0.0.2 n1 ready"}
	for _, c := range []struct {
		name, service string
		endpoints     []string
		at, from      string
		outer         bool
		want          string
	}{
		{name: "all ready endpoints", endpoints: append(two, "10.0.0.3 n0 unready", "10.0.0.4 n0 leaving"), want: "sent 10.0.0.1 10.0.0.2"},
		{name: "none", want: "rejected : it has no endpoints"},
		{name: "none ready", endpoints: []string{"10.0.0.3 n0 unready"}, want: "rejected : none of its endpoints is ready"},
		{name: "terminating ones when no other is ready", endpoints: []string{"10.0.0.3 n0 unready", "10.0.0.4 n1 leaving"}, want: "sent 10.0.0.4: no endpoint is ready, and these are terminating"},
		{name: "internal policy", service: "{spec: {clusterIP: 10.96.0.7, internalTrafficPolicy: Local, " + ports + "}}", endpoints: two, want: "sent 10.0.0.1: its traffic policy is Local"},
		{name: "internal policy without a local one", service: "{spec: {clusterIP: 10.96.0.7, internalTrafficPolicy: Local, " + ports + "}}", endpoints: two[1:], want: "dropped : its traffic policy is Local, and it has no endpoint on node n0"},
		{name: "internal policy, local terminating", service: "{spec: {clusterIP: 10.96.0.7, internalTrafficPolicy: Local, " + ports + "}}", endpoints: []string{"10.0.0.4 n0 leaving", two[1]}, want: "sent 10.0.0.4: its traffic policy is Local"},
		{name: "external policy from a pod", service: fmt.Sprintf(lb, "externalTrafficPolicy: Local"), at: "192.0.2.1", endpoints: two[1:], want: "sent 10.0.0.2"},
		{name: "external policy from outside", service: fmt.Sprintf(lb, "externalTrafficPolicy: Local"), at: "192.0.2.1", from: outside, outer: true, endpoints: two, want: "sent 10.0.0.1: its traffic policy is Local"},
		{name: "external policy from outside without a local one", service: fmt.Sprintf(lb, "externalTrafficPolicy: Local"), at: "192.0.2.1", from: outside, outer: true, endpoints: two[1:], want: "dropped : its traffic policy is Local, and it has no endpoint on node n0"},
		{name: "load balancer", service: fmt.Sprintf(lb, "externalTrafficPolicy: Cluster"), at: "192.0.2.1", from: outside, outer: true, endpoints: two, want: "sent 10.0.0.1 10.0.0.2 masqueraded"},
		{name: "source ranges", service: fmt.Sprintf(lb, "loadBalancerSourceRanges: [198.51.100.0/24, ' 203.0.113.0/24']"), at: "192.0.2.1", from: outside, outer: true, endpoints: two, want: "sent 10.0.0.1 10.0.0.2 masqueraded"},
		{name: "outside the source ranges", service: fmt.Sprintf(lb, "loadBalancerSourceRanges: [198.51.100.0/24]"), at: "192.0.2.1", from: outside, outer: true, endpoints: two, want: "dropped : 203.0.113.7 is not in loadBalancerSourceRanges"},
		{name: "source ranges do not apply to the cluster IP", service: fmt.Sprintf(lb, "loadBalancerSourceRanges: [198.51.100.0/24]"), endpoints: two, want: "sent 10.0.0.1 10.0.0.2"},
		{name: "node port", service: fmt.Sprintf(lb, "externalTrafficPolicy: Cluster"), at: "node", endpoints: two, want: "sent 10.0.0.1 10.0.0.2 masqueraded"},
		{name: "zones", endpoints: []string{"10.0.0.1 n0 ready zone=a", "10.0.0.2 n1 ready zone=b"}, want: "sent 10.0.0.1: hints prefer endpoints for zone a"},
		{name: "zones, one without", endpoints: []string{"10.0.0.1 n0 ready zone=a", "10.0.0.2 n1 ready"}, want: "sent 10.0.0.1 10.0.0.2"},
		{name: "zones, none for this", endpoints: []string{"10.0.0.1 n0 ready zone=b", "10.0.0.2 n1 ready zone=b"}, want: "sent 10.0.0.1 10.0.0.2"},
		{name: "nodes before zones", endpoints: []string{"10.0.0.1 n0 ready zone=a node=n0", "10.0.0.2 n1 ready zone=a node=n1"}, want: "sent 10.0.0.1: hints prefer endpoints for node n0"},
		{name: "nodes, none for this", endpoints: []string{"10.0.0.1 n1 ready zone=a node=n1", "10.0.0.2 n1 ready zone=b node=n1"}, want: "sent 10.0.0.1: hints prefer endpoints for zone a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var table services.Table
			text := c.service
			if text == "" {
				text = "{spec: {clusterIP: 10.96.0.7, " + ports + "}}"
			}
			table.SetService(service(t, text))
			table.SetSlice(slice("web-1", c.endpoints...))
			f := table.FindNodePort(false, 30080, corev1.ProtocolTCP)
			if c.at != "node" {
				at := netip.MustParseAddr("10.96.0.7")
				if c.at != "" {
					at = netip.MustParseAddr(c.at)
				}
				f = table.Find(at, 80, corev1.ProtocolTCP)
			}
			if f == nil {
				t.Fatal("found no frontend")
			}
			from := inside
			if c.from != "" {
				from = c.from
			}
			if got := describe(services.Rules{Table: &table}.Choose(f, &services.Node{Name: "n0", Zone: "a"}, netip.MustParseAddr(from), !c.outer)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAffinityLastsForItsTimeout(t *testing.T) {
	var table services.Table
	s := service(t, "{spec: {clusterIP: 10.96.0.7, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, "+ports+"}}")
	table.SetService(s)
	table.SetSlice(slice("web-1", "10.0.0.1 n0 ready", "10.0.0.2 n0 ready", "10.0.0.3 n0 ready"))
	f := table.Find(netip.MustParseAddr("10.96.0.7"), 80, corev1.ProtocolTCP)
	var a services.Affinities
	now := time.Unix(0, 0)
	client, other := netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("10.0.1.2")
	pick := func(client netip.Addr, after time.Duration, random uint64) string {
		now = now.Add(after)
		c := services.Rules{Table: &table}.Choose(f, &services.Node{Name: "n0"}, client, true)
		return a.Pick(f, &c, client, now, random).Address.String()
	}
	var got []string
	got = append(got, pick(client, 0, 1), pick(client, 59*time.Second, 2), pick(other, 0, 2), pick(client, 59*time.Second, 0), pick(client, 60*time.Second, 0))
	table.SetSlice(slice("web-1", "10.0.0.2 n0 ready")) // the endpoint of client is gone
	got = append(got, pick(client, 0, 0))
	want := []string{"10.0.0.2:8080", "10.0.0.2:8080", "10.0.0.3:8080", "10.0.0.2:8080", "10.0.0.1:8080", "10.0.0.2:8080"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestHeadlessAndExternalNamesHaveNoAddress(t *testing.T) {
	for _, text := range []string{"{spec: {clusterIP: None, " + ports + "}}", "{spec: {type: ExternalName, externalName: example.com, " + ports + "}}"} {
		var table services.Table
		table.SetService(service(t, text))
		if f := table.FindNodePort(false, 80, corev1.ProtocolTCP); f != nil {
			t.Errorf("%s: found %v", text, f)
		}
	}
}

func TestLabelsOfOtherProxies(t *testing.T) {
	var table services.Table
	at := netip.MustParseAddr("10.96.0.7")
	web := service(t, "{spec: {clusterIP: 10.96.0.7, "+ports+"}}")
	table.SetService(web)
	labelled := slice("web-1", "10.0.0.1 n0 ready")
	labelled.Labels[corev1.IsHeadlessService] = ""
	table.SetSlice(labelled)
	f := table.Find(at, 80, corev1.ProtocolTCP)
	if got, want := describe(services.Rules{Table: &table}.Choose(f, &services.Node{Name: "n0"}, at, true)), "rejected : it has no endpoints"; got != want {
		t.Errorf("endpoints of a slice that kube-proxy ignores: %s, want %s", got, want)
	}
	if got := table.ReadyEndpoints(f); len(got) != 1 {
		t.Errorf("ready endpoints, as names lead to them: %v", got)
	}
	web = web.DeepCopy()
	web.Labels = map[string]string{"service.kubernetes.io/service-proxy-name": ""}
	table.SetService(web)
	_, owned := table.Owner(at)
	if f := table.Find(at, 80, corev1.ProtocolTCP); f != nil || !owned || table.FindNodePort(false, 30080, corev1.ProtocolTCP) != nil {
		t.Errorf("a Service of another proxy: frontend %v, owned %v", f, owned)
	}
}

func TestOwnerKnowsPortsThatAreNotThere(t *testing.T) {
	var table services.Table
	table.SetService(service(t, "{spec: {clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 'fd00::7'], "+ports+"}}"))
	for _, address := range []string{"10.96.0.7", "fd00::7", "::ffff:10.96.0.7"} {
		if owner, ok := table.Owner(netip.MustParseAddr(address)); !ok || owner.String() != "shop/web" {
			t.Errorf("%s: %v %v", address, owner, ok)
		}
	}
	table.SetSlice(slice("v6", "fd01::1 n0 ready"))
	if f := table.Find(netip.MustParseAddr("fd00::7"), 80, corev1.ProtocolTCP); f == nil || len(table.Endpoints(f)) != 1 {
		t.Errorf("the second family: %v", f)
	}
	if f := table.Find(netip.MustParseAddr("10.96.0.7"), 53, corev1.ProtocolTCP); f != nil {
		t.Errorf("UDP's port answers TCP: %v", f)
	}
}

// A table that was changed is as one that was made of what is there.
func TestChangesLeaveNothingBehind(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var table services.Table
		have, parts := map[string]*corev1.Service{}, map[string]*discoveryv1.EndpointSlice{}
		for range 30 {
			name := fmt.Sprintf("s%d", r.IntN(3))
			switch r.IntN(4) {
			case 0, 1:
				s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
				s.Spec.Type = corev1.ServiceTypeLoadBalancer
				s.Spec.ClusterIP = fmt.Sprintf("10.96.0.%d", r.IntN(3))
				s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: int32(80 + r.IntN(2)), NodePort: int32(30000 + r.IntN(2))}}
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
				have[name] = s
				table.SetService(s)
			case 2:
				delete(have, name)
				table.DeleteService(services.Key{Namespace: "shop", Name: name})
			case 3:
				part := slice(name+"-x", fmt.Sprintf("10.0.0.%d n0 ready", r.IntN(5)))
				part.Labels[discoveryv1.LabelServiceName] = name
				if parts[name] != nil && r.IntN(2) == 0 {
					table.DeleteSlice(parts[name])
					delete(parts, name)
					continue
				}
				parts[name] = part
				table.SetSlice(part)
			}
			_ = everything(&table) // computes endpoints, which the next change must forget
		}
		var fresh services.Table
		for _, s := range have {
			fresh.SetService(s)
		}
		for _, s := range parts {
			fresh.SetSlice(s)
		}
		if got, want := everything(&table), everything(&fresh); got != want {
			t.Fatalf("seed %d:\ngot  %s\nwant %s", seed, got, want)
		}
	}
}

func everything(t *services.Table) string {
	var b strings.Builder
	show := func(f *services.Frontend) {
		if f != nil {
			fmt.Fprintf(&b, "%s %s %d %v;", f.Key(), f.By, f.Port.Port, t.Endpoints(f))
		}
	}
	for _, address := range []string{"10.96.0.0", "10.96.0.1", "10.96.0.2", "192.0.2.1"} {
		a := netip.MustParseAddr(address)
		owner, _ := t.Owner(a)
		fmt.Fprintf(&b, "%s:", owner)
		for port := int32(80); port < 82; port++ {
			show(t.Find(a, port, corev1.ProtocolTCP))
		}
	}
	for i := range byte(5) {
		fmt.Fprintf(&b, "%v", t.WithEndpoint(netip.AddrFrom4([4]byte{10, 0, 0, i})))
	}
	for port := int32(30000); port < 30002; port++ {
		show(t.FindNodePort(false, port, corev1.ProtocolTCP))
	}
	return b.String()
}
