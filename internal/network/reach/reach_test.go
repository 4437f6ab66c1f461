package reach_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
)

// load makes a cluster of a file of objects.
func load(t testing.TB, file string) *reach.Cluster {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := reach.New()
	c.DNS = netip.MustParseAddr("10.96.0.10")
	for _, text := range strings.Split(string(data), "\n---\n") {
		add(t, c, text)
	}
	return c
}

func add(t testing.TB, c *reach.Cluster, text string) {
	t.Helper()
	into := func(object any) {
		if err := yaml.Unmarshal([]byte(text), object); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
	kind, _, _ := strings.Cut(text, "\n")
	switch kind {
	case "kind: Namespace":
		var o corev1.Namespace
		into(&o)
		c.Policies.SetNamespace(o.Name, o.Labels)
	case "kind: Node":
		var o corev1.Node
		into(&o)
		c.SetNode(&o)
	case "kind: Pod":
		var o corev1.Pod
		into(&o)
		c.SetPod(&o)
	case "kind: Service":
		var o corev1.Service
		into(&o)
		c.Services.SetService(&o)
	case "kind: EndpointSlice":
		var o discoveryv1.EndpointSlice
		into(&o)
		c.Services.SetSlice(&o)
	case "kind: NetworkPolicy":
		var o networkingv1.NetworkPolicy
		into(&o)
		c.Policies.Set(&o)
	default:
		t.Fatalf("no kind: %s", text)
	}
}

// listens is as the simulation would have it: declared ports listen.
func listens(pod *corev1.Pod, port int32, protocol corev1.Protocol) *reach.Listener {
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.ContainerPort == port && (p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) {
				return &reach.Listener{Container: pod.Spec.Containers[i].Name, Why: "it declares the port"}
			}
		}
	}
	return nil
}

// ask decides a line such as "shop/client web:80", "node:n0 10.0.0.1:80" or "203.0.113.7 192.0.2.1:80 UDP".
func ask(t testing.TB, c *reach.Cluster, line string) *reach.Report {
	t.Helper()
	words := strings.Fields(line)
	q := &reach.Query{Protocol: corev1.ProtocolTCP, Listens: listens, Random: 1}
	if node, ok := strings.CutPrefix(words[0], "node:"); ok {
		q.From = policy.Peer{Node: node}
	} else if namespace, name, ok := strings.Cut(words[0], "/"); ok {
		if q.From.Pod = c.Pod(namespace, name); q.From.Pod == nil {
			t.Fatalf("no pod %s", words[0])
		}
	} else {
		q.From = policy.Peer{Address: netip.MustParseAddr(words[0])}
	}
	colon := strings.LastIndexByte(words[1], ':')
	q.Host = strings.Trim(words[1][:colon], "[]")
	if _, err := fmt.Sscan(words[1][colon+1:], &q.Port); err != nil {
		t.Fatal(err)
	}
	if len(words) > 2 {
		q.Protocol = corev1.Protocol(words[2])
	}
	q.Cut = func(from, to string) string {
		if to == "n2" && from != "n2" {
			return "node n2 is cut off"
		}
		return ""
	}
	return c.Decide(q).Report(q, words[0], words[1])
}

func TestPaths(t *testing.T) {
	c := load(t, "testdata/cluster.yaml")
	questions, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(questions)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			fmt.Fprintf(&b, "%s\n", line)
			continue
		}
		fmt.Fprintf(&b, "$ reach %s\n%s", line, ask(t, c, line).Text())
	}
	golden.Compare(t, "testdata/answers.golden", b.String())
}

// Objects that were there before leave nothing behind.
func TestPodsGiveUpTheirAddresses(t *testing.T) {
	c := load(t, "testdata/cluster.yaml")
	old := c.Pod("shop", "web-1").DeepCopy()
	old.Status.Phase = corev1.PodSucceeded
	c.SetPod(old)
	next := c.Pod("shop", "client").DeepCopy()
	next.Name, next.UID = "next", "next"
	next.Status.PodIP, next.Status.PodIPs = "10.244.1.5", nil
	c.SetPod(next)
	c.DeletePod(podKey("shop", "web-1")) // it is deleted after its address has another pod
	if got := ask(t, c, "shop/client 10.244.1.5:80"); got.Pod != "shop/next" {
		t.Errorf("the address belongs to %q: %s", got.Pod, got.Text())
	}
}

func podKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// The name server is a pod of kube-system for policies: one that isolates all pods there denies names to the whole cluster.
func TestIsolatedNameServer(t *testing.T) {
	c := load(t, "testdata/cluster.yaml")
	add(t, c, "kind: NetworkPolicy\nmetadata: {namespace: kube-system, name: isolate}\nspec: {podSelector: {}}\n")
	if got := ask(t, c, "shop/client web:80"); got.Outcome != reach.NoNameServer || !strings.Contains(got.Why, "deny the ingress") {
		t.Errorf("%s: %s", got.Outcome, got.Why)
	}
	if got := ask(t, c, "shop/client web:80").Text(); !strings.Contains(got, "name      web: asked of the name server 10.96.0.10, UDP 53\n") || !strings.Contains(got, "ingress   not allowed by NetworkPolicy kube-system/isolate: ") {
		t.Errorf("it does not say which policy denies names:\n%s", got)
	}
	add(t, c, "kind: Service\nmetadata: {namespace: kube-system, name: kube-dns}\nspec: {clusterIP: 10.96.0.10, ports: [{name: dns, port: 53, protocol: UDP}]}\n")
	if got := ask(t, c, "shop/client web:80"); got.Service != "kube-system/kube-dns" || got.Ingress == nil || len(got.Ingress.Denials) != 1 {
		t.Errorf("Service %q:\n%s", got.Service, got.Text())
	}
	if got := ask(t, c, "shop/client 10.96.0.7:80"); !got.Reached {
		t.Errorf("by address: %s: %s", got.Outcome, got.Why)
	}
}

// Host ports are bound to the address in hostIP, and reached from the node by its loopback address, too.
func TestHostPorts(t *testing.T) {
	c := reach.New()
	add(t, c, "kind: Node\nmetadata: {name: n0}\nstatus: {addresses: [{type: InternalIP, address: 172.18.0.2}]}")
	for name, port := range map[string]string{
		"local": "hostIP: 127.0.0.1, hostPort: 8080", "own": "hostIP: 172.18.0.2, hostPort: 8080", "udp": "hostIP: 172.18.0.2, hostPort: 8080, protocol: UDP", "every": "hostPort: 9090",
	} {
		address := map[string]string{"local": "10.0.0.1", "own": "10.0.0.2", "udp": "10.0.0.3", "every": "10.0.0.4"}[name]
		add(t, c, fmt.Sprintf("kind: Pod\nmetadata: {namespace: x, name: %s}\nspec: {nodeName: n0, containers: [{name: c, ports: [{containerPort: 80, %s}]}]}\nstatus: {podIP: %s}", name, port, address))
	}
	add(t, c, "kind: Pod\nmetadata: {namespace: x, name: host}\nspec: {nodeName: n0, hostNetwork: true, containers: [{name: c, ports: [{containerPort: 7070}]}]}\nstatus: {podIP: 172.18.0.2}")
	for _, test := range []struct {
		from, to string
		protocol corev1.Protocol
		pod      string
	}{
		{"host", "127.0.0.1:8080", "", "local"},
		{"host", "172.18.0.2:8080", "", "own"},
		{"host", "172.18.0.2:8080", corev1.ProtocolUDP, "udp"},
		{"host", "127.0.0.1:9090", "", "every"},
		{"own", "172.18.0.2:9090", "", "every"},
		{"host", "127.0.0.1:7070", "", "host"},
		{"own", "172.18.0.2:7070", "", "host"},
		{"own", "172.18.0.2:8080", "", "own"},
		{"own", "127.0.0.1:80", "", "own"},
		{"own", "127.0.0.1:8080", "", ""},
		{"host", "127.0.0.1:8080", corev1.ProtocolUDP, ""},
	} {
		to := netip.MustParseAddrPort(test.to)
		p := c.Decide(&reach.Query{From: policy.Peer{Pod: c.Pod("x", test.from)}, Host: to.Addr().String(), Port: int32(to.Port()), Protocol: test.protocol, Listens: listens})
		got := ""
		if p.Outcome == reach.Connected {
			got = p.Pod.Name
		}
		if got != test.pod {
			t.Errorf("%s to %s %s: pod %q (%s), want %q", test.from, test.to, test.protocol, got, p.Why, test.pod)
		}
	}
}
