package minikcmapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/minikcmtest"
)

// machine is a cluster on virtual time with its ways in.
type machine struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newMachine(t *testing.T, opts outside.Options) *machine {
	t.Helper()
	return &machine{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Seed = 7
		o.API.Extensions = []minikcm.Extension{outside.Extension(opts)}
		o.API.LoadBalancers = outside.LoadBalancers(o.Seed)
	})), t}
}

func (m *machine) pod(name string, annotations map[string]string) {
	m.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, Annotations: annotations}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) service(name string, kind corev1.ServiceType, change func(*corev1.Service)) {
	m.t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: kind, Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 8081, TargetPort: intstr.FromInt32(8080)}},
	}}
	if change != nil {
		change(s)
	}
	if _, err := m.Client().CoreV1().Services("default").Create(m.t.Context(), s, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) pass(d time.Duration) {
	m.t.Helper()
	if err := m.Advance(m.t.Context(), d); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) entrances() *outside.Entrances {
	m.t.Helper()
	all, err := outside.Get(m.t.Context(), m.Client().CoreV1().RESTClient())
	if err != nil {
		m.t.Fatal(all, err)
	}
	return all
}

// get returns the status and the body of an answer, or the error.
func get(t *testing.T, transport *http.Transport, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "error: " + err.Error()
	}
	defer rs.Body.Close() // it has been read
	body, err := io.ReadAll(rs.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s", rs.StatusCode, body)
}

// plain sends requests for http:// to the proxy, tunnel asks it for a connection, and socks does that with SOCKS5.
func plain(address string) *http.Transport {
	return &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address})}
}

func tunnel(address string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to) // the answer shows it
		rs, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
		if err != nil || rs.StatusCode != http.StatusOK {
			_ = conn.Close()
			return nil, fmt.Errorf("CONNECT: %+v, %w", rs, err)
		}
		return conn, nil
	}}
}

func socks(t *testing.T, address string) *http.Transport {
	t.Helper()
	dialer, err := proxy.SOCKS5("tcp", address, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Transport{DialContext: func(_ context.Context, network, to string) (net.Conn, error) { return dialer.Dial(network, to) }}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Proxy: true})
	m.pod("web", nil)
	m.service("web", corev1.ServiceTypeClusterIP, nil)
	m.service("none", corev1.ServiceTypeClusterIP, nil)
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "process, asked for "+r.Host+r.URL.Path)
	}))
	t.Cleanup(process.Close)
	m.service("dev", corev1.ServiceTypeClusterIP, func(s *corev1.Service) {
		s.Annotations = map[string]string{"minikcm.dev/host": process.Listener.Addr().String()}
	})
	m.pass(5 * time.Second)
	at := m.entrances().Proxy
	web := "200 pod: web\nnamespace: default\nnode: node-0\nimage: nginx\naddress: 10.244.0.2:8080\nclient: 172.18.0.1\nrequest: GET /x?y=z\n"
	for _, tt := range []struct {
		name      string
		transport *http.Transport
		url, want string
	}{
		{"HTTP", plain(at), "http://web.default.svc:8081/x?y=z", web},
		{"CONNECT", tunnel(at), "http://web.default.svc.cluster.local:8081/x?y=z", web},
		{"SOCKS5", socks(t, at), "http://web:8081/x?y=z", web},
		{"a process", plain(at), "http://dev.default.svc:8081/a", "200 process, asked for dev.default.svc:8081/a"},
		{"a process by CONNECT", tunnel(at), "http://dev.default:8081/a", "200 process, asked for dev.default:8081/a"},
		{"no such name", plain(at), "http://nosuch.default.svc/", "502 minikcm: nosuch.default.svc:80: Name or service not known: no name server knows nosuch.default.svc\n"},
		{"no endpoints", plain(at), "http://none:8081/", "502 minikcm: none:8081: Connection refused: the Service default/none: it has no endpoints\n"},
		{"no endpoints by SOCKS5", socks(t, at), "http://none:8081/", "connection refused"},
		{"outside", plain(at), "http://example.com/", "502 minikcm: example.com:80: example.com is a name outside of the cluster\n"},
		{"outside by address", socks(t, at), "http://127.0.0.1:1/", "network unreachable"},
		{"the name server", plain(at), "http://10.96.0.10:53/", "EOF"},
		{"the name server by SOCKS5", socks(t, at), "http://10.96.0.10:53/", "EOF"},
		{"no URL of another host", &http.Transport{}, "http://" + at + "/", "400 This is a proxy to the network of a cluster"},
	} {
		if got := get(t, tt.transport, tt.url); got != tt.want && (tt.want == web || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := m.Client().NetworkingV1().NetworkPolicies("default").Create(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(time.Second)
	if got, want := get(t, plain(at), "http://web:8081/"), "504 minikcm: web:8081: Connection timed out: NetworkPolicies deny the ingress\n"; got != want {
		t.Errorf("with a policy, got %q, want %q", got, want)
	}
}

// A tunnel leads to a server with TLS, which is found behind its Service.
func TestProxyTLS(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Proxy: true})
	authority, err := auth.NewAuthority("test", clock.Real().Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("safe.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "safe"}, Data: map[string][]byte{"tls.crt": pair.CertPEM(), "tls.key": key}}
	if _, err := m.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "safe", Labels: map[string]string{"app": "safe"}, Annotations: map[string]string{"minikcm.dev/http": "8080 tls /certs/tls.crt /certs/tls.key\n8080 / 200 safe"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx", VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "safe"}}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.service("safe", corev1.ServiceTypeClusterIP, nil)
	m.pass(5 * time.Second)
	at := m.entrances().Proxy
	transport := tunnel(at)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertPEM())
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	if got, want := get(t, transport, "https://safe.default.svc:8081/"), "200 safe\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := get(t, plain(at), "http://safe.default.svc:8081/"), "400 Client sent an HTTP request to an HTTPS server.\n"; got != want {
		t.Errorf("without TLS, got %q, want %q", got, want)
	}
}

// A request from outside is in flight while it is served, and its connection is not.
func TestRequestsFromOutsideHoldTime(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Proxy: true})
	m.pod("hook", map[string]string{"minikcm.dev/http": "8080 / allow"})
	m.service("hook", corev1.ServiceTypeClusterIP, nil)
	m.pass(5 * time.Second)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", m.entrances().Proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // the test is over
	in := bufio.NewReader(conn)
	review := `{"kind": "AdmissionReview", "request": {"uid": "u"}}`
	for range 2 {
		if err := m.Ledger().WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "POST http://hook:8081/ HTTP/1.1\r\nHost: hook\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(review))
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("got %q, %v", line, err)
		}
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if m.Ledger().Idle() { // the program waits for the body
			t.Error("time may pass while the request is served")
		}
		_, _ = io.WriteString(conn, review)
		rs, err := http.ReadResponse(in, nil)
		if err != nil || rs.StatusCode != http.StatusOK {
			t.Fatal(rs, err)
		}
		_, _ = io.Copy(io.Discard, rs.Body) // the connection is used again
		_ = rs.Body.Close()
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Publish: true})
	m.pod("web", nil)
	m.pass(5 * time.Second)
	taken, port := takeNodePort(t)
	defer taken.Close() // the test is over
	m.service("web", corev1.ServiceTypeLoadBalancer, nil)
	m.service("taken", corev1.ServiceTypeNodePort, func(s *corev1.Service) { s.Spec.Ports[0].NodePort = port })
	m.pass(5 * time.Second)
	all := m.entrances().Services
	if len(all) != 3 || all[0].Service != "taken" || all[1].NodePort || !all[2].NodePort {
		t.Fatalf("published: %+v", all)
	}
	if want := fmt.Sprintf("127.0.0.1:%d of this machine is taken", port); all[0].Address != "" || !strings.HasPrefix(all[0].Problem, want) || runtime.GOOS == "linux" && !strings.Contains(all[0].Problem, "by process") {
		t.Errorf("of a port that is taken: %+v", all[0])
	}
	service, err := m.Client().CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := service.Status.LoadBalancer.Ingress[0].IP + ":8081"; runtime.GOOS == "linux" && (!strings.HasPrefix(want, "127.71.") || all[1].Address != want) {
		t.Errorf("published on %s, want %s", all[1].Address, want)
	}
	for _, p := range all[1:] {
		if got, want := get(t, &http.Transport{}, "http://"+p.Address+"/"), "200 pod: web\n"; !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", p.Address, got, want)
		}
	}
	m.Eventually("an event", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=NotPublished,involvedObject.name=taken"})
		if err == nil && len(list.Items) != 1 {
			err = fmt.Errorf("%d events", len(list.Items))
		}
		return err
	})
	if err := m.Client().CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(5 * time.Second)
	if got := get(t, &http.Transport{}, "http://"+all[1].Address+"/"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("after the Service is gone, got %q", got)
	}
}

// Datagrams from this machine come to a pod, and its answers come back.
func TestPublishUDP(t *testing.T) {
	t.Parallel()
	m := newMachine(t, outside.Options{Publish: true})
	m.pod("echo", map[string]string{"minikcm.dev/server": "listen: [{port: 8080, protocol: UDP, mode: text, routes: [{body: 'got ${request.body} from ${request.peer}'}]}]"})
	m.service("echo", corev1.ServiceTypeLoadBalancer, func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP })
	m.pass(5 * time.Second)
	all := m.entrances().Services
	if len(all) != 2 || all[0].Protocol != corev1.ProtocolUDP || !all[1].NodePort {
		t.Fatalf("published: %+v", all)
	}
	for _, p := range all {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "udp", p.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // the test is over
		_ = conn.SetDeadline(clock.Real().Now().Add(time.Minute))
		buffer := make([]byte, 100)
		for _, text := range []string{"one", "two"} {
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(buffer)
			if got, want := string(buffer[:n]), "got "+text+" from "; err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("%s: got %q, want %q, %v", p.Address, got, want, err)
			}
		}
	}
}

// takeNodePort takes a node port of this machine.
func takeNodePort(t *testing.T) (net.Listener, int32) {
	t.Helper()
	for port := int32(32767); port > 30000; port-- {
		if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, port
		}
	}
	t.Fatal("all node ports are taken")
	return nil, 0
}

// The end of a cluster ends the connections from outside, whatever they wait for.
func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	conns := map[string]net.Conn{}
	t.Cleanup(func() { // after the cluster has ended
		for name, conn := range conns {
			_ = conn.SetReadDeadline(clock.Real().Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s is still open", name)
			}
			_ = conn.Close()
		}
	})
	process, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0") // it accepts and does not answer
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	m := newMachine(t, outside.Options{Proxy: true, Publish: true})
	m.pod("web", nil)
	m.service("web", corev1.ServiceTypeLoadBalancer, nil)
	m.service("dev", corev1.ServiceTypeClusterIP, func(s *corev1.Service) {
		s.Annotations = map[string]string{"minikcm.dev/host": process.Addr().String()}
	})
	if _, err := m.Client().NetworkingV1().NetworkPolicies("default").Create(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(5 * time.Second)
	all := m.entrances()
	for name, of := range map[string]struct{ address, send, answer string }{
		"an idle client":        {all.Proxy, "", ""},
		"half a greeting":       {all.Proxy, "\x05\x01\x00\x05", "\x05\x00"},
		"half a header":         {all.Proxy, "GET http://web:8081/ HTTP/1.1\r\n", ""},
		"a tunnel to a process": {all.Proxy, "CONNECT dev:8081 HTTP/1.1\r\nHost: dev\r\n\r\n", "HTTP/1.1 200 "},
		"dropped packets":       {all.Services[0].Address, "GET / HTTP/1.1\r\n\r\n", ""},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", of.address)
		if err != nil {
			t.Fatal(err)
		}
		conns[name] = conn
		answer := make([]byte, len(of.answer))
		_, writeErr := io.WriteString(conn, of.send)
		if _, err := io.ReadFull(conn, answer); writeErr != nil || err != nil || string(answer) != of.answer {
			t.Errorf("%s: %q, %v, %v", name, answer, writeErr, err)
		}
	}
}
