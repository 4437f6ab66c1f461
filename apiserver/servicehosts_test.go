package apiserver_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/auth"
)

// process is a server on the machine, with the certificate of a Service.
type process struct {
	*httptest.Server
	caBundle []byte
}

func startProcess(t *testing.T, service string, handler http.Handler) *process {
	t.Helper()
	ca := must(authority())(t)
	pair := must(ca.Server(service + ".default.svc"))(t)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that checks close
	server.StartTLS()
	t.Cleanup(server.Close)
	return &process{server, ca.CertPEM()}
}

func (p *process) address() string { return p.Listener.Addr().String() }

// ledService is a Service of simulated pods that leads to the addresses.
func ledService(name, addresses string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"minikcm.dev/host": addresses}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "https", Port: 443}, {Name: "metrics", Port: 8080}}},
	}
}

// Only users with a permission for the whole cluster may lead a Service out of it.
func TestServiceHostsPermission(t *testing.T) {
	h := start(t)
	own := rbacv1.Subject{Kind: "User", Name: "jane"}
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("all"), Rules: rules("*", "*", "*")},
		&rbacv1.RoleBinding{ObjectMeta: named("all"), RoleRef: roleRef("Role", "all"), Subjects: []rbacv1.Subject{own}},
	)
	jane, admin := h.as("jane", "dev").CoreV1().Services("default"), h.client().CoreV1().Services("default")
	const address = "127.0.0.1:9443"
	forbidden := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `user "jane" may not lead a Service to 127.0.0.1:9443`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := jane.Create(h.ctx, ledService("a", address), metav1.CreateOptions{})
	forbidden("create", err)
	plain := ledService("a", address)
	plain.Annotations = nil
	must(jane.Create(h.ctx, plain, metav1.CreateOptions{}))(t)
	patch := []byte(`{"metadata":{"annotations":{"minikcm.dev/host":"` + address + `"}}}`)
	_, err = jane.Patch(h.ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{})
	forbidden("patch", err)
	_, err = jane.Patch(h.ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	forbidden("patch of the status", err)

	must(admin.Patch(h.ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	must(jane.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))(t)
	must(jane.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"annotations":{"minikcm.dev/host":null}}}`), metav1.PatchOptions{}))(t)
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("webhooks"), Rules: rules("use", "minikcm.dev", "hosts", address)},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("webhooks"), RoleRef: roleRef("ClusterRole", "webhooks"), Subjects: []rbacv1.Subject{own}},
	)
	must(jane.Patch(h.ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	_, err = jane.Create(h.ctx, ledService("b", "https="+address+",10.0.0.1:22"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "10.0.0.1:22") {
		t.Errorf("an address that the role does not name: %v", err)
	}
	_, err = admin.Create(h.ctx, ledService("b", "9443"), metav1.CreateOptions{})
	wantStatus(t, err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `metadata.annotations[minikcm.dev/host]: Invalid value: "9443": "9443": must be HOST:PORT or PORTNAME=HOST:PORT`)
	body := asJSON(t, ledService("b", "https="+address+",web="+address))
	r := h.mustSend(http.MethodPost, "/api/v1/namespaces/default/services", body, "Content-Type", "application/json")
	if got, want := r.header.Get("Warning"), `299 - "metadata.annotations[minikcm.dev/host]: the Service has no port \"web\""`; got != want {
		t.Errorf("the warning is %s, want %s", got, want)
	}
}

// The probes of a pod are led out with the same permission, also by a controller that creates the pod.
func TestPodHostsPermission(t *testing.T) {
	h := start(t)
	own := rbacv1.Subject{Kind: "User", Name: "jane"}
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("all"), Rules: rules("*", "*", "*")},
		&rbacv1.RoleBinding{ObjectMeta: named("all"), RoleRef: roleRef("Role", "all"), Subjects: []rbacv1.Subject{own}},
	)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"minikcm.dev/host": "8081=127.0.0.1:8081,health=127.0.0.1:8082"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	jane, admin := h.as("jane", "dev").CoreV1().Pods("default"), h.client().CoreV1().Pods("default")
	_, err := jane.Create(h.ctx, pod, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `user "jane" may not lead a Pod to 127.0.0.1:8081`) {
		t.Errorf("create: %v", err)
	}
	r := h.mustSend(http.MethodPost, "/api/v1/namespaces/default/pods", asJSON(t, pod), "Content-Type", "application/json")
	if got, want := r.header.Get("Warning"), `299 - "metadata.annotations[minikcm.dev/host]: the Pod has no port \"health\""`; got != want {
		t.Errorf("the warning is %s, want %s", got, want)
	}
	must(jane.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))(t)
	patch := []byte(`{"metadata":{"annotations":{"minikcm.dev/host":"8081=10.0.0.1:22"}}}`)
	for _, subresources := range [][]string{nil, {"status"}} {
		if _, err := jane.Patch(h.ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{}, subresources...); !apierrors.IsForbidden(err) {
			t.Errorf("patch of %q: %v", subresources, err)
		}
	}
	_, err = admin.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"annotations":{"minikcm.dev/host":"8081"}}}`), metav1.PatchOptions{})
	wantStatus(t, err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `Pod "a" is invalid: metadata.annotations[minikcm.dev/host]: Invalid value: "8081"`)
}

// Webhooks that refer to a Service reach the process that it leads to, with the Service's name.
func TestServiceHostsWebhooks(t *testing.T) {
	h := start(t)
	client := h.client()
	d := &doors{customs: newCustoms(t, h, inMemory().config(h))}
	hook := startProcess(t, "hook", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/validate" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		asked.Response = &admissionv1.AdmissionResponse{UID: asked.Request.UID, Result: &metav1.Status{Message: "asked as " + r.TLS.ServerName}}
		asked.Request = nil
		_ = json.NewEncoder(w).Encode(asked)
	}))
	must(client.CoreV1().Services("default").Create(h.ctx, ledService("hook", "https="+hook.address()), metav1.CreateOptions{}))(t)
	config := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: named("v"), Webhooks: []registrationv1.ValidatingWebhook{{
		Name: "v.example.com", Rules: rulesFor("configmaps", registrationv1.Create), SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		ClientConfig: registrationv1.WebhookClientConfig{
			CABundle: hook.caBundle, Service: &registrationv1.ServiceReference{Namespace: "default", Name: "hook", Path: ptr.To("/validate")},
		},
	}}}
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, config, metav1.CreateOptions{}))(t)
	if _, err := client.CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "denied the request: asked as hook.default.svc") {
		t.Errorf("the webhook: %v", err)
	}

	converting := startConverter(t)
	behind := startProcess(t, "converter", converting.Config.Handler)
	must(client.CoreV1().Services("default").Create(h.ctx, ledService("converter", behind.address()), metav1.CreateOptions{}))(t)
	definition := parseDefinition(t, doorDefinition)
	definition.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
		CABundle: behind.caBundle, Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: "converter"},
	}
	must(d.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(d.ctx, definition, metav1.CreateOptions{}))(t)
	doors := d.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "doors"}).Namespace("default")
	must(doors.Create(h.ctx, door("v1", "front", map[string]any{"hostPort": "here:1"}), metav1.CreateOptions{}))(t)
	specField(t, must(d.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "doors"}).Namespace("default").Get(h.ctx, "front", metav1.GetOptions{}))(t), "host", "here")
}

// An APIService needs no endpoints if its Service leads to a process.
func TestServiceHostsAggregation(t *testing.T) {
	h := start(t)
	config := h.server.Config("jane", auth.GroupMasters)
	other := startProcess(t, "things", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"path": r.URL.Path, "user": r.Header.Get("X-Remote-User")})
	}))
	client := kubernetes.NewForConfigOrDie(config)
	services := aggregatorclient.NewForConfigOrDie(config).APIServices()
	must(services.Create(h.ctx, &apiregistrationv1.APIService{
		ObjectMeta: named("v1.things.example.com"),
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "things.example.com", Version: "v1", GroupPriorityMinimum: 2000, VersionPriority: 15, CABundle: other.caBundle,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "things"},
		},
	}, metav1.CreateOptions{}))(t)
	plain := ledService("things", "")
	plain.Annotations = nil
	must(client.CoreV1().Services("default").Create(h.ctx, plain, metav1.CreateOptions{}))(t)
	awaitAvailable(h, services, "EndpointsNotFound")
	patch := []byte(`{"metadata":{"annotations":{"minikcm.dev/host":"` + other.address() + `"}}}`)
	must(client.CoreV1().Services("default").Patch(h.ctx, "things", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	awaitAvailable(h, services, "Passed")
	r := h.raw(config, http.MethodGet, "/apis/things.example.com/v1/things", "")
	if want := `{"path":"/apis/things.example.com/v1/things","user":"jane"}`; r.code != http.StatusOK || strings.TrimSpace(string(r.body)) != want {
		t.Errorf("%d %s, want %s", r.code, r.body, want)
	}
}

// The proxy of a Service, and the proxy of the pods that it selects, reach the process.
func TestServiceHostsProxy(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "echo" {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close() // the test is over
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(conn, buffered)
			return
		}
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = fmt.Fprint(w, `<a href="/there">x</a>`)
		default:
			body, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %s %s secret=%q", r.Method, r.URL.RequestURI(), body, r.Header.Get("Authorization"))
		}
	})
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := startProcess(t, "web", handler)
	h := start(t)
	cfg := overHTTP1().config(h)
	service := ledService("web", "metrics="+plain.Listener.Addr().String()+",https="+secure.address())
	must(h.client().CoreV1().Services("default").Create(h.ctx, service, metav1.CreateOptions{}))(t)
	closed := ledService("closed", "127.0.0.1:1")
	must(h.client().CoreV1().Services("default").Create(h.ctx, closed, metav1.CreateOptions{}))(t)
	const services = "/api/v1/namespaces/default/services/"
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"web:8080/proxy/a%20b?c=d", 200, `PUT /a%20b?c=d sent secret=""`},
		{"http:web:metrics/proxy/a/", 200, `PUT /a/ sent secret=""`},
		{"https:web:https/proxy/", 200, `PUT / sent secret=""`},
		{"web:https/proxy/", 400, "Client sent an HTTP request to an HTTPS server."},
		{"web:81/proxy/", 503, `no service port 81 found for service`},
		{"web:8080/proxy/page", 200, `<a href="/api/v1/namespaces/default/services/web:8080/proxy/there">x</a>`},
		{"closed:443/proxy/", 503, "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		body := "sent"
		if tt.code == 400 {
			body = "" // the HTTPS server closes the connection and reads no body, which may reset it
		}
		r := h.raw(cfg, http.MethodPut, services+tt.path, body, "Authorization", "")
		if r.code != tt.code || !strings.Contains(string(r.body), tt.want) || r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s %v, want %d %s", tt.path, r.code, r.body, r.header, tt.code, tt.want)
		}
	}
	if moved := h.raw(cfg, http.MethodPut, services+"web:8080/proxy/moved", ""); !strings.HasPrefix(string(moved.body), "GET /there ") {
		t.Errorf("the redirect leads to %d %s", moved.code, moved.body)
	}
	upgraded := h.open(h.ctx, cfg, http.MethodGet, services+"web:8080/proxy/", "", "Connection", "Upgrade", "Upgrade", "echo")
	conn, ok := upgraded.Body.(io.ReadWriteCloser)
	if !ok || upgraded.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the upgrade: %d", upgraded.StatusCode)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("the upgraded connection: %q, %v", line, err)
	}
	_ = conn.Close()
}
