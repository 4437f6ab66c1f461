package minikcmapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/outside"
)

// through connects through a proxy.
func through(proxy string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", proxy)
		if err != nil {
			return nil, err
		}
		r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
		if err := r.Write(conn); err != nil {
			return nil, err
		}
		rs, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			return nil, err
		}
		if rs.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the proxy answers %s", rs.Status)
		}
		return conn, nil
	}
}

// Real clients of gRPC get the answers that a description has, and probes do.
func TestGRPC(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Proxy: true})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "health", Labels: map[string]string{"app": "health"}, Annotations: map[string]string{"minikcm.dev/server": `
listen:
- port: 8080
  mode: grpc
  routes:
  - {path: /grpc.health.v1.Health/Check, if: 'now - container.startedAt > duration("30s")', json: {status: NOT_SERVING}}
  - {path: /demo.Greeter/Say, if: 'request.headers[?"x-user"].orValue("") == ""', grpc: {code: UNAUTHENTICATED, message: 'who, ${request.peer}? 100 %'}}
  - {path: /demo.Greeter/Say, headers: {x-by: '${pod.name}'}}`}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "health", LivenessProbe: &corev1.Probe{
		PeriodSeconds: 1, FailureThreshold: 1, ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8080}},
	}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.service("health", corev1.ServiceTypeClusterIP, nil)
	m.pass(10 * time.Second)
	restarts := func(want int32) {
		t.Helper()
		pod, err := m.Client().CoreV1().Pods("default").Get(t.Context(), "health", metav1.GetOptions{})
		if err != nil || pod.Status.ContainerStatuses[0].RestartCount != want {
			t.Errorf("%v, restarts %d, want %d", err, pod.Status.ContainerStatuses[0].RestartCount, want)
		}
	}
	restarts(0)
	conn, err := grpc.NewClient("passthrough:///health.default.svc:8081", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(through(m.entrances().Proxy)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(conn)
	if h, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health %v, %v", h, err)
	}
	say := func() string {
		return fmt.Sprint(conn.Invoke(ctx, "/demo.Greeter/Say", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{}))
	}
	if got, want := say(), "rpc error: code = Unauthenticated desc = who, 172.18.0.1? 100 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := fmt.Sprint(conn.Invoke(ctx, "/demo.Other/Say", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{})), "rpc error: code = Unimplemented desc = unknown service demo.Other"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	reflecting, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := reflecting.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	services, err := reflecting.Recv()
	if err != nil || !slices.ContainsFunc(services.GetListServicesResponse().GetService(), func(s *grpc_reflection_v1.ServiceResponse) bool { return s.GetName() == "grpc.health.v1.Health" }) {
		t.Errorf("services %v, %v", services, err)
	}
	if err := reflecting.CloseSend(); err != nil {
		t.Error(err)
	}
	if got := get(t, plain(m.entrances().Proxy), "http://health.default.svc:8081/"); !strings.Contains(got, "EOF") {
		t.Errorf("a client without HTTP/2 gets %q", got)
	}
	m.pass(40 * time.Second)
	restarts(1)
}
