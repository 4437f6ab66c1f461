//go:build unix

package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	networkCalls    = 100_000
	networkClients  = 16
	networkBackends = 3
)

// answering are programs that answer a request, with the annotations of their pods.
var answering = []struct {
	name, image, path string
	annotations       map[string]string
}{
	{"the page of a declared port", "example.com/unknown", "/", nil},
	{"nginx of the catalog", "nginx", "/", nil},
	{"a described route", "example.com/unknown", "/items/7", map[string]string{"minikcm.dev/server": `
listen:
- port: 80
  routes:
  - {path: "/items/{id}", body: "item ${request.vars.id} of ${pod.name}"}
`}},
}

// BenchmarkRequests measures HTTP requests through the name server, a Service with three pods, a NetworkPolicy and the program
// that listens. Neither side has a socket.
func BenchmarkRequests(b *testing.B) {
	for b.Loop() {
		for _, program := range answering {
			requests(b, program.name, program.image, program.path, program.annotations)
		}
	}
}

func requests(b *testing.B, name, image, at string, annotations map[string]string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, func(o *minikcm.Options) { o.Nodes.Count = 3 })
	defer closeBig(b, cluster)
	serveWeb(ctx, b, cluster, image, annotations)
	kubelets := cluster.Kubelets()
	get := func(i int) error {
		path, err := kubelets.Enter(ctx, "web", 80, corev1.ProtocolTCP)
		if err != nil {
			return err
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://web"+at, nil)
		if r = r.WithContext(ctx); !kubelets.ServeEntered(path, w, r) || w.Code != http.StatusOK {
			return fmt.Errorf("request %d: %v: %s, status %d", i, path.Outcome, path.Why, w.Code)
		}
		return nil
	}
	if err := get(0); err != nil { // starts the network
		b.Fatal(err)
	}
	before := clock.ProcessorTime()
	measured.add("requests answered by "+name, "/s", rate(b, networkClients, networkCalls, get))
	measured.add("requests answered by "+name+", processor", "us", (clock.ProcessorTime()-before).Seconds()*1e6/networkCalls)
}

// serveWeb creates pods that serve, with a Service and a policy that admits every client, and waits until the Service has endpoints.
func serveWeb(ctx context.Context, b *testing.B, cluster *minikcm.Cluster, image string, annotations map[string]string) {
	b.Helper()
	client, labels := cluster.Client(), map[string]string{"app": "web"}
	slices := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	watcher, err := slices.Watch(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
	if err != nil {
		b.Fatal(err)
	}
	inParallel(b, networkBackends, func(i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: labels, Annotations: annotations}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	port := intstr.FromInt32(80)
	open := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: labels},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &port}}}},
	}}
	if _, err := client.NetworkingV1().NetworkPolicies(metav1.NamespaceDefault).Create(ctx, open, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		slice, ok := ev.Object.(*discoveryv1.EndpointSlice)
		ready := 0
		for i := 0; ok && i < len(slice.Endpoints); i++ {
			if r := slice.Endpoints[i].Conditions.Ready; r != nil && *r {
				ready++
			}
		}
		return ready == networkBackends
	})
}
