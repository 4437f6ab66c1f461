package kubeletsim_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	//lint:ignore SA1019 client-go's port forwarding speaks it
	"k8s.io/apimachinery/pkg/util/httpstream" // as above
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

func httpPod(name string) *corev1.Pod {
	return podNamed(name, func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": name}
		pod.Annotations = map[string]string{"minikcm.dev/http": "8080 / 200 hello\n8080 /api/* 201 made\n8080 /healthz 503 not yet\n"}
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	})
}

// get asks a forwarded port.
func get(t *testing.T, port uint16, path string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() // it is read
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

// portError returns the text of a port's error stream.
func portError(t *testing.T, dialer httpstream.Dialer, port string) string {
	t.Helper()
	conn, _, err := dialer.Dial("portforward.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // the test is over
	header := http.Header{}
	header.Set(corev1.PortHeader, port)
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := conn.CreateStream(header)
	if err != nil {
		t.Fatal(err)
	}
	_ = failures.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	if _, err := conn.CreateStream(header); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(failures)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// forward forwards ports until end is called.
func forward(t *testing.T, dialer httpstream.Dialer, ports ...string) (forwarded []portforward.ForwardedPort, end func()) {
	t.Helper()
	stop, ready, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.New(dialer, ports, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	forwarded, err = forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	return forwarded, func() {
		close(stop)
		<-done
	}
}

// The annotation minikcm.dev/host of a Service connects ports of its pods to a process outside of the cluster.
func TestPortsOfServiceHost(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(httpPod("web"))
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "process %s", r.URL.Path)
	}))
	t.Cleanup(process.Close)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"minikcm.dev/host": "hooks=" + process.Listener.Addr().String() + ",gone=127.0.0.1:1"}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{
			{Name: "hooks", Port: 443, TargetPort: intstr.FromInt32(9443)}, {Name: "gone", Port: 81}, {Name: "web", Port: 80, TargetPort: intstr.FromString("web")},
		}},
	}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	core := c.client.CoreV1().RESTClient()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(core.Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward").URL(), c.config)
	if err != nil {
		t.Fatal(err)
	}
	ports, end := forward(t, dialer, ":9443", ":8080")
	for i, want := range []string{"200 process /", "200 hello\n"} {
		if got, err := get(t, ports[i].Local, "/"); err != nil || got != want {
			t.Errorf("port %d: got %q (%v), want %q", ports[i].Remote, got, err, want)
		}
	}
	end()
	if got, want := portError(t, dialer, "81"), "dial tcp 127.0.0.1:1: connect: connection refused"; !strings.Contains(got, want) {
		t.Errorf("without the process, got %q, want %q", got, want)
	}
	for name, want := range map[string]string{"web:9443": "process /", "web:8080": "hello\n"} {
		request := core.Get().Namespace("default").Resource("pods").Name(name).SubResource("proxy").Suffix("/")
		if got := ask(t, request); got != want {
			t.Errorf("the proxy of %s: got %q, want %q", name, got, want)
		}
	}
}

func TestPortForward(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(httpPod("web"))
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward")
	for name, dial := range map[string]func() (httpstream.Dialer, error){
		"WebSocket": func() (httpstream.Dialer, error) {
			return portforward.NewSPDYOverWebsocketDialer(request.URL(), c.config)
		},
		"SPDY": func() (httpstream.Dialer, error) {
			transport, upgrader, err := spdy.RoundTripperFor(c.config)
			return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", request.URL()), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dialer, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			ports, end := forward(t, dialer, ":8080", ":9090")
			for path, want := range map[string]string{"/": "200 hello\n", "/api/x": "201 made\n", "/healthz": "503 not yet\n", "/other": "404 404 page not found\n"} {
				if got, err := get(t, ports[0].Local, path); err != nil || got != want {
					t.Errorf("%s: got %q (%v), want %q", path, got, err, want)
				}
			}
			if got, err := get(t, ports[1].Local, "/"); err == nil {
				t.Errorf("a port that nothing listens on answers %q", got)
			}
			end()
			if got, want := portError(t, dialer, "9090"), "IPv4: dial tcp4 127.0.0.1:9090: connect: connection refused"; !strings.Contains(got, want) {
				t.Errorf("of a closed port, got %q, want %q", got, want)
			}
		})
	}
}

// A forwarded port and the proxy speak TLS with a server that serves it.
func TestTLSPorts(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	authority, err := auth.NewAuthority("test", clock.Real().Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("web.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string][]byte{"tls.crt": pair.CertPEM(), "tls.key": key}}
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.run(podNamed("web", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"minikcm.dev/http": "8443 tls /certs/tls.crt /certs/tls.key\n8443 / 200 safe\n9443 tls /tmp/none /tmp/none\n8080 / 200 plain"}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web"}}}}
	}))
	core := c.client.CoreV1().RESTClient()
	for name, want := range map[string]string{
		"https:web:8443": "safe\n", "web:8443": "Client sent an HTTP request to an HTTPS server.", "https:web:8080": "error trying to reach service: http: server gave HTTP response to HTTPS client",
		"https:web:9443": "error trying to reach service: remote error: tls: internal error", "https:web:1": "connection refused", "web:8080": "plain\n",
	} {
		if got := ask(t, core.Get().Namespace("default").Resource("pods").Name(name).SubResource("proxy").Suffix("/")); !strings.Contains(got, want) {
			t.Errorf("the proxy of %s: got %q, want %q", name, got, want)
		}
	}
	dialer, err := portforward.NewSPDYOverWebsocketDialer(core.Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward").URL(), c.config)
	if err != nil {
		t.Fatal(err)
	}
	ports, end := forward(t, dialer, ":8443", ":9443")
	defer end()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertPEM())
	for _, tt := range []struct {
		port       uint16
		name, want string
	}{
		{ports[0].Local, "web.default.svc", "200 safe\n"},
		{ports[0].Local, "other", "certificate is valid for web.default.svc, not other"},
		{ports[1].Local, "web.default.svc", "remote error: tls: internal error"},
	} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: tt.name}}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", tt.port), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if response, err := client.Do(request); err != nil {
			got = err.Error()
		} else {
			body, _ := io.ReadAll(response.Body) // what is missing is seen
			_ = response.Body.Close()
			got = fmt.Sprintf("%d %s", response.StatusCode, body)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("port %d as %s: got %q, want %q", tt.port, tt.name, got, tt.want)
		}
	}
}

// ask sends a request to a proxy subresource.
func ask(t *testing.T, request *rest.Request) string {
	t.Helper()
	body, err := request.DoRaw(t.Context())
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return fmt.Sprintf("%v %s %+v", err, body, status.Status().Details)
		}
		return err.Error()
	}
	return string(body)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(httpPod("web"))
	c.run(podNamed("plain", func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "plain"}
		pod.Spec.Containers[0].Image = "shop" // nothing describes it
	}))
	c.run(podNamed("mute", func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "mute"}
		pod.Spec.Containers[0].Command = []string{"sleep", "infinity"}
	}))
	for _, name := range []string{"web", "plain", "mute", "none"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		}}
		if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Eventually("the services to have endpoints", func(ctx context.Context, client kubernetes.Interface) error {
		for _, name := range []string{"web", "plain", "mute"} {
			endpoints, err := client.CoreV1().Endpoints("default").Get(ctx, name, metav1.GetOptions{}) // the proxy reads them
			if err != nil {
				return err
			}
			if len(endpoints.Subsets) == 0 || len(endpoints.Subsets[0].Addresses) == 0 {
				return fmt.Errorf("%s has none", name)
			}
		}
		_, err := client.CoreV1().Endpoints("default").Get(ctx, "none", metav1.GetOptions{}) // as above
		return err
	})
	core := c.client.CoreV1().RESTClient()
	refused := "connect: connection refused"
	for _, tt := range []struct {
		resource, name, path string
		want                 string
	}{
		{"pods", "web", "/", "hello"},
		{"pods", "web:8080", "/api/a%20b", "made"},
		{"pods", "http:web:8080", "/", "hello"},
		{"pods", "web:81", "/", refused},
		{"pods", "web", "/healthz", "not yet"},
		{"pods", "mute", "/", refused},
		{"pods", "plain", "/a", "pod: plain\nnamespace: default\nnode: node-0\n"},
		{"services", "plain", "/a", "request: GET /a\n"},
		{"pods", "nope", "/", `pods "nope" not found`},
		{"services", "web", "/api/x", "made"},
		{"services", "web:80", "/", "hello"},
		{"services", "web:81", "/", `no service port 81 found for service "web"`},
		{"services", "mute", "/", refused},
		{"services", "none", "/", `no endpoints available for service "none"`},
		{"services", "nope", "/", `no endpoints available for service "nope"`},
		{"nodes", "node-0", "/healthz", "ok"},
		{"nodes", "node-0:10250", "/metrics", "kubelet_running_pods 3"},
		{"nodes", "node-0", "/pods", `"name":"mute"`},
		{"nodes", "node-0", "/nope", "404"},
		{"nodes", "node-0:1", "/", refused},
	} {
		request := core.Get().Resource(tt.resource).Name(tt.name).SubResource("proxy").Suffix(tt.path)
		if tt.resource != "nodes" {
			request = request.Namespace("default")
		}
		if got := strings.ReplaceAll(ask(t, request), `\"`, `"`); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s %s: got %q, want %q", tt.resource, tt.name, tt.path, got, tt.want)
		}
	}
	proxy := core.Get().Namespace("default").Resource("pods").Name("web").SubResource("proxy").URL().String()
	for method, want := range map[string]int{"GET": 301, "HEAD": 301, "OPTIONS": 200, "DELETE": 200, "PATCH": 200, "POST": 200, "PUT": 200} {
		if got := c.status(method, proxy+"?a=b"); got != want {
			t.Errorf("%s: got %d, want %d", method, got, want)
		}
	}
}

// status is the code of an answer, without following it elsewhere.
func (c *streamCluster) status(method, url string) int {
	c.t.Helper()
	transport, err := rest.TransportFor(c.config)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, url, bytes.NewReader(nil))
	if err != nil {
		c.t.Fatal(err)
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// Probes follow the annotation, also when it changes.
func TestProbesFollowAnnotation(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	pod := httpPod("web")
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("web")}}}
	c.run(pod)
	ready := func(want corev1.ConditionStatus) func(ctx context.Context, client kubernetes.Interface) error {
		return func(ctx context.Context, client kubernetes.Interface) error {
			pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == want {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
		}
	}
	c.Eventually("the pod not to be ready", ready(corev1.ConditionFalse))
	patch := []byte(`{"metadata":{"annotations":{"minikcm.dev/http":"8080 /* 200"}}}`)
	if _, err := c.client.CoreV1().Pods("default").Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to be ready", ready(corev1.ConditionTrue))
}
