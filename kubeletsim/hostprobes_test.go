package kubeletsim

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// led is a pod whose readiness probe reaches an address.
func led(address string, handler corev1.ProbeHandler) *corev1.Pod {
	return podtest.Pod("web", "node-0", podtest.Annotated("host", "8081="+address), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8081}} // or nginx does not listen on it
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 20}
	})
}

// The probes of a pod that leads to a process reach it, as long as the annotation is there.
func TestProbesReachProcess(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	var code atomic.Int32
	code.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(code.Load())) }))
	defer server.Close()
	c.begin(led(server.Listener.Addr().String(), corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8081)}}))
	want := func(what string, ready bool) {
		t.Helper()
		if got := isReady(c.pod("web")); got != ready {
			t.Errorf("%s: ready is %v", what, got)
		}
	}
	want("503", false)
	code.Store(http.StatusFound)
	c.advance(10 * time.Second)
	want("302", true)
	server.Close()
	c.advance(20 * time.Second)
	want("after two failures", true)
	c.advance(10 * time.Second)
	want("after three failures", false)
	got := c.messages("web", "Unhealthy")
	if len(got) != 2 || got[0] != "Readiness probe failed: HTTP probe failed with statuscode: 503" || !strings.Contains(got[1], "/ready\": dial tcp 127.0.0.1:") || !strings.HasSuffix(got[1], "connect: connection refused") {
		t.Errorf("events: %q", got)
	}
	if _, err := c.client.CoreV1().Pods("default").Patch(c.ctx, "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"minikcm.dev/host":null}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pod is ready by the simulation", func() bool { return isReady(c.pod("web")) })
}

// A probe that only connects, or that asks for the health by gRPC, reaches the process, too.
func TestProbesConnect(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, answers := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, answers)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { server.Stop(); <-served }()
	answers.SetServingStatus("sick", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	sick, none := "sick", "none"
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	tcp := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8081)}}
	for name, tt := range map[string]struct {
		listener net.Listener
		handler  corev1.ProbeHandler
		want     string
	}{
		"connects":      {listener, tcp, ""},
		"refused":       {closed, tcp, "connect: connection refused"},
		"serves":        {listener, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8081}}, ""},
		"does not":      {listener, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8081, Service: &sick}}, `service unhealthy (responded with "NOT_SERVING")`},
		"unknown":       {listener, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8081, Service: &none}}, "code = NotFound"},
		"refused calls": {closed, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8081}}, "error: failed to connect service at"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, Options{Nodes: 1})
			c.begin(led(tt.listener.Addr().String(), tt.handler))
			c.advance(time.Second)
			got := c.messages("web", "Unhealthy")
			if ready := isReady(c.pod("web")); ready != (tt.want == "") || len(got) > 1 || tt.want != "" && (len(got) == 0 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("ready is %v: %q", ready, got)
			}
		})
	}
}
