package minikcmapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/outside"
)

// class creates an IngressClass of the simulated router.
func (m *machine) class(name string, controller string) {
	m.t.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
	if _, err := m.Client().NetworkingV1().IngressClasses().Create(m.t.Context(), class, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// ingress creates an Ingress with a rule for each HOST/PATH, whose backend is the port of the tests' Services.
func (m *machine) ingress(name, class string, backends map[string]string, change func(*networkingv1.Ingress)) {
	m.t.Helper()
	prefix := networkingv1.PathTypePrefix
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressSpec{IngressClassName: &class}}
	for rule, service := range backends {
		host, path, _ := strings.Cut(rule, "/")
		i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: "/" + path, PathType: &prefix, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 8081}},
			}}},
		}}})
	}
	if change != nil {
		change(i)
	}
	if _, err := m.Client().NetworkingV1().Ingresses("default").Create(m.t.Context(), i, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// newShop returns a cluster with an Ingress for shop.example and what it leads to.
func newShop(t *testing.T, opts outside.Options) *machine {
	t.Helper()
	m := newMachine(t, opts)
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Real-Ip", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port"} {
			_, _ = fmt.Fprintf(w, "%s=%s ", name, r.Header.Get(name))
		}
		_, _ = io.WriteString(w, r.Host+r.URL.Path)
	}))
	t.Cleanup(process.Close)
	for _, name := range []string{"web", "cart"} {
		m.pod(name, nil)
		m.service(name, corev1.ServiceTypeClusterIP, nil)
	}
	m.service("none", corev1.ServiceTypeClusterIP, nil)
	m.service("dev", corev1.ServiceTypeClusterIP, func(s *corev1.Service) {
		s.Annotations = map[string]string{"minikcm.dev/host": process.Listener.Addr().String()}
	})
	m.class("simulated", "minikcm.dev/simulated")
	m.class("other", "example.com/other")
	m.ingress("shop", "simulated", map[string]string{
		"shop.example/": "web", "shop.example/cart": "cart", "shop.example/none": "none", "shop.example/missing": "missing", "shop.example/dev": "dev",
	}, func(i *networkingv1.Ingress) {
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "shop"}}
	})
	m.ingress("foreign", "other", map[string]string{"foreign.example/": "web"}, nil)
	m.pass(5 * time.Second)
	return m
}

// An Ingress of a class of the simulated router gets an address, and the class's Service leads to it.
func TestIngressHasAnAddress(t *testing.T) {
	t.Parallel()
	m := newShop(t, outside.Options{})
	address := func(name string) string {
		i, err := m.Client().NetworkingV1().Ingresses("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(i.Status.LoadBalancer.Ingress) == 0 {
			return ""
		}
		return i.Status.LoadBalancer.Ingress[0].IP
	}
	service, err := m.Client().CoreV1().Services("kube-system").Get(t.Context(), "ingress-simulated", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := address("shop"); got == "" || got != service.Status.LoadBalancer.Ingress[0].IP {
		t.Errorf("address %q, and the Service: %+v", got, service.Status)
	}
	if got := address("foreign"); got != "" {
		t.Errorf("the Ingress of another controller has the address %q", got)
	}
	events, err := m.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Ingress"})
	var said []string
	for i := range events.Items {
		said = append(said, events.Items[i].InvolvedObject.Name+" "+events.Items[i].Reason+" "+events.Items[i].Message)
	}
	if want := []string{
		"shop DefaultCertificate Secret default/shop does not exist: the router presents its default certificate, which no client trusts, for shop.example",
		"shop Sync Scheduled for sync",
	}; err != nil || !slices.Equal(slices.Sorted(slices.Values(said)), want) {
		t.Errorf("events %q, %v", said, err)
	}
	m.ingress("second", "simulated", map[string]string{"shop.example/": "web"}, nil)
	m.pass(time.Minute)
	rejected := func() (messages []string) {
		events, err := m.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=second,reason=Rejected"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events.Items {
			messages = append(messages, events.Items[i].Message)
		}
		return messages
	}
	if got := rejected(); len(got) != 1 || got[0] != "shop.example /: Ingress default/shop, which is older or comes first by name, has this host and path" {
		t.Errorf("of the Ingress that loses: %q", got)
	}
	if err := m.Client().NetworkingV1().IngressClasses().Delete(t.Context(), "simulated", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(time.Minute)
	if _, err := m.Client().CoreV1().Services("kube-system").Get(t.Context(), "ingress-simulated", metav1.GetOptions{}); err == nil {
		t.Error("the Service is left")
	}
	if got := address("shop"); got != "" {
		t.Errorf("without its class, the Ingress has the address %q", got)
	}
}

func TestIngressRoutes(t *testing.T) {
	t.Parallel()
	m := newShop(t, outside.Options{Proxy: true})
	at := m.entrances().Proxy
	const forwarded = "X-Real-Ip=172.18.0.1 X-Forwarded-For=172.18.0.1 X-Forwarded-Host=shop.example X-Forwarded-Proto=http X-Forwarded-Port=80 "
	for _, tt := range []struct{ url, want string }{
		{"http://shop.example/", "200 pod: web\n"},
		{"http://shop.example/cartoon", "200 pod: web\n"},
		{"http://shop.example/cart", "200 pod: cart\n"},
		{"http://shop.example/cart/1?x=y", "200 pod: cart\n"},
		{"http://shop.example/dev/a", "200 " + forwarded + "shop.example/dev/a"},
		{"http://shop.example/none", "503 minikcm: 503 Service Unavailable: no endpoint of the Service default/none is ready\n"},
		{"http://shop.example/missing", "503 minikcm: 503 Service Unavailable: the Service default/missing does not exist\n"},
		{"http://ingress-simulated.kube-system.svc/", "404 minikcm: 404 Not Found: no rule of the IngressClass simulated matches ingress-simulated.kube-system.svc/\n"},
		{"http://foreign.example/", "502 minikcm: foreign.example:80: Name or service not known"},
	} {
		if got := get(t, plain(at), tt.url); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.url, got, tt.want)
		}
	}
	if _, err := m.Client().NetworkingV1().NetworkPolicies("default").Create(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(time.Second)
	if got, want := get(t, plain(at), "http://shop.example/"), "504 minikcm: 504 Gateway Timeout: NetworkPolicies deny the ingress\n"; got != want {
		t.Errorf("with a policy, got %q, want %q", got, want)
	}
	report, err := m.Kubelets().Reach(t.Context(), &reach.Ask{From: "web", To: "http://shop.example/cart"})
	if err != nil || report.Reached || report.Status != http.StatusGatewayTimeout || report.Route != "Ingress default/shop, shop.example /cart (Prefix)" {
		t.Errorf("report %+v, %v", report, err)
	}
}

// A program in a pod reaches the router by the Ingress's name, as with a public name server that follows the cluster.
func TestIngressFromAPod(t *testing.T) {
	t.Parallel()
	m := newShop(t, outside.Options{})
	client := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client"}}
	client.Spec.RestartPolicy = corev1.RestartPolicyNever
	client.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"sh", "-c", "wget -qO- http://shop.example/cart/7; wget -qO- http://shop.example/none; curl -s http://shop.example/cart | grep -q anything && echo assumed"}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(t.Context(), client, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(10 * time.Second)
	logs, err := m.Client().CoreV1().Pods("default").GetLogs("client", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || !strings.HasPrefix(string(logs), "pod: cart\n") || !strings.Contains(string(logs), "request: GET /cart/7\nwget: server returned error: HTTP/1.1 503 Service Unavailable\nassumed\n") {
		t.Errorf("logs %q, %v", logs, err)
	}
}

func TestIngressOverTLS(t *testing.T) {
	t.Parallel()
	m := newShop(t, outside.Options{Proxy: true})
	certificate, key := certificateFor(t, "shop.example")
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certificate)
	secure := func(roots *x509.CertPool) *http.Transport {
		transport := tunnel(m.entrances().Proxy)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		return transport
	}
	if got := get(t, secure(trusted), "https://shop.example/cart"); !strings.Contains(got, "certificate") {
		t.Errorf("without a Secret, got %q", got)
	}
	untrusting := secure(nil)
	untrusting.TLSClientConfig.InsecureSkipVerify = true
	if got := get(t, untrusting, "https://shop.example/cart"); !strings.HasPrefix(got, "200 pod: cart\n") {
		t.Errorf("without a Secret and without verifying, got %q", got)
	}
	if got := m.curl("first", "-sS https://shop.example/cart"); !strings.HasPrefix(got, "curl: (60) SSL certificate problem: self-signed certificate\n") || !strings.HasSuffix(got, "\n60\n") {
		t.Errorf("in a pod, without a Secret: %q", got)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: []byte("broken")}}
	if _, err := m.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := m.curl("second", "-sS --cacert /certs/tls.crt https://shop.example/cart"); !strings.HasPrefix(got, "curl: (60) ") {
		t.Errorf("in a pod, with a broken key: %q", got)
	}
	events, err := m.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=DefaultCertificate"})
	if err != nil || len(events.Items) != 2 || !strings.Contains(events.Items[0].Message+events.Items[1].Message, "Secret default/shop has no certificate with its key: tls: failed to find any PEM data in key input: ") {
		t.Errorf("events %+v, %v", events.Items, err)
	}
	patch := fmt.Sprintf(`{"data": {"tls.key": %q}}`, base64.StdEncoding.EncodeToString(key))
	if _, err := m.Client().CoreV1().Secrets("default").Patch(t.Context(), "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := m.curl("third", "-sS --cacert /certs/tls.crt https://shop.example/cart"); !strings.HasPrefix(got, "pod: cart\n") {
		t.Errorf("in a pod, with a Secret: %q", got)
	}
	if got := m.curl("fourth", "-sS https://shop.example/cart"); !strings.HasPrefix(got, "curl: (60) ") {
		t.Errorf("in a pod that does not trust it: %q", got)
	}
	if got := get(t, secure(trusted), "https://shop.example/cart"); !strings.HasPrefix(got, "200 pod: cart\n") {
		t.Errorf("with a Secret, got %q", got)
	}
	if got := get(t, secure(trusted), "https://shop.example/dev"); !strings.Contains(got, "X-Forwarded-Proto=https X-Forwarded-Port=443 ") {
		t.Errorf("to a process, got %q", got)
	}
}

// curl runs curl in a pod with the certificate of the shop, and returns its output and its exit code.
func (m *machine) curl(name, options string) string {
	m.t.Helper()
	optional := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "tools", Command: []string{"sh", "-c", "curl " + options + " 2>&1; echo $?"}, VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}},
	}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "shop", Optional: &optional}}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.pass(10 * time.Second)
	log, err := m.Client().CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return string(log)
}

// certificateFor returns a certificate for a name and its key.
func certificateFor(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// The ports of the router's Service are published as any load balancer's.
func TestIngressIsPublished(t *testing.T) {
	t.Parallel()
	m := newShop(t, outside.Options{Publish: true})
	for _, p := range m.entrances().Services {
		if p.Service != "ingress-simulated" || p.Port != 80 {
			continue
		}
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", p.Address)
		}}
		if got := get(t, transport, "http://shop.example/cart"); !strings.HasPrefix(got, "200 pod: cart\n") {
			t.Errorf("%+v: got %q", p, got)
		}
	}
}
