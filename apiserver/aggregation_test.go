package apiserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// otherAPI is a server of the version things.example.com/v1, which only accepts requests
// of a front proxy.
type otherAPI struct {
	*httptest.Server
	broken atomic.Bool
}

func (o *otherAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.broken.Load() {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	if len(r.TLS.VerifiedChains) == 0 || r.TLS.PeerCertificates[0].Subject.CommonName != "front-proxy-client" || r.Header.Get("X-Remote-User") == "" {
		http.Error(w, "not by the front proxy", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case path == "/apis/things.example.com/v1":
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "things.example.com/v1",
			APIResources: []metav1.APIResource{
				{Name: "things", SingularName: "thing", Namespaced: true, Kind: "Thing", Verbs: metav1.Verbs{"get", "list", "watch"}},
				{Name: "things/status", Namespaced: true, Kind: "Thing", Verbs: metav1.Verbs{"get"}},
			},
		})
	case path == "/openapi/v3":
		_, _ = fmt.Fprint(w, `{"paths":{"apis/things.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/things.example.com/v1?hash=1"}}}`)
	case path == "/openapi/v2":
		_, _ = fmt.Fprint(w, `{"swagger":"2.0","info":{"title":"things","version":"1"},"paths":{
			"/apis/things.example.com/v1/things":{"get":{"operationId":"listThings","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.Thing"}}}}},
			"/apis/things.example.com/v2/things":{"get":{"operationId":"listOthers","responses":{"200":{"description":"OK"}}}}},
			"definitions":{"com.example.Thing":{"type":"object","description":"a thing"}}}`)
	case path == "/openapi/v3/apis/things.example.com/v1":
		_, _ = fmt.Fprint(w, `{"openapi":"3.0.0","info":{"title":"things"}}`)
	case path == "/apis/things.example.com/v1/namespaces/a/things/redirected":
		http.Redirect(w, r, "https://198.51.100.1/", http.StatusFound)
	case strings.HasSuffix(path, "/things") && r.URL.Query().Get("watch") != "":
		_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"Thing","apiVersion":"things.example.com/v1","metadata":{"name":"x"}}}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.HasPrefix(path, "/apis/things.example.com/v1/"):
		_ = json.NewEncoder(w).Encode(map[string]any{
			"path": r.URL.RequestURI(), "method": r.Method, "user": r.Header["X-Remote-User"], "groups": r.Header["X-Remote-Group"],
			"authorization": r.Header["Authorization"], "impersonate": r.Header["Impersonate-User"],
		})
	default:
		http.NotFound(w, r)
	}
}

// startOther starts a server of another API, which knows the front proxies of an authority.
func startOther(t *testing.T, proxies *auth.Authority) *otherAPI {
	o := &otherAPI{}
	o.Server = httptest.NewUnstartedServer(o)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(proxies.CertPEM())
	o.TLS = &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	o.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that the checks close
	o.StartTLS()
	t.Cleanup(o.Close)
	return o
}

// expose makes a Service that leads to the server.
func (o *otherAPI) expose(h *harness, client kubernetes.Interface) {
	h.t.Helper()
	host, text, err := net.SplitHostPort(o.Listener.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("default").Create(h.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "things"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "api", Port: 443}}},
	}, metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "things-1", Labels: map[string]string{discoveryv1.LabelServiceName: "things"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("api"), Port: ptr.To(int32(port))}},
	}
	// Endpoints on the loopback interface are invalid: they are reached through the external
	// name instead.
	if _, err := client.DiscoveryV1().EndpointSlices("default").Create(h.ctx, slice, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		h.t.Fatalf("an endpoint on the loopback interface: %v", err)
	}
	service, err := client.CoreV1().Services("default").Get(h.ctx, "things", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}
	if _, err := client.CoreV1().Services("default").Update(h.ctx, service, metav1.UpdateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func (o *otherAPI) port(t *testing.T) int32 {
	t.Helper()
	_, text, err := net.SplitHostPort(o.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// awaitAvailable waits until the condition of an APIService has a reason.
func awaitAvailable(h *harness, services aggregatorclient.APIServiceInterface, reason string) apiregistrationv1.APIServiceCondition {
	h.t.Helper()
	watcher, err := services.Watch(h.ctx, metav1.ListOptions{FieldSelector: "metadata.name=v1.things.example.com"})
	if err != nil {
		h.t.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Deleted {
			continue
		}
		for _, c := range event.Object.(*apiregistrationv1.APIService).Status.Conditions {
			if c.Reason == reason {
				c.LastTransitionTime = metav1.Time{}
				return c
			}
		}
	}
	h.t.Fatalf("the condition never has the reason %s", reason)
	return apiregistrationv1.APIServiceCondition{}
}

// An APIService that refers to a Service makes its server part of the API: requests reach it
// as the user, and discovery and OpenAPI show it.
func TestAggregation(t *testing.T) {
	authority, err := auth.NewAuthority("front-proxy-ca", clock.Real().Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Client("front-proxy-client")
	if err != nil {
		t.Fatal(err)
	}
	other := startOther(t, authority)
	h := start(t, func(o *apiserver.Options) { o.ProxyClient = certificate })
	config := h.server.Config("jane", auth.GroupMasters, "dev")
	client := kubernetes.NewForConfigOrDie(config)
	services := aggregatorclient.NewForConfigOrDie(config).APIServices()
	created, err := services.Create(h.ctx, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.things.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "things.example.com", Version: "v1", GroupPriorityMinimum: 2000, VersionPriority: 15, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "things", Port: ptr.To(other.port(t))},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := awaitAvailable(h, services, "ServiceNotFound"); got.Message != `service/things in "default" is not present` || got.Status != apiregistrationv1.ConditionFalse {
		t.Errorf("without the Service: %+v", got)
	}
	if r := h.raw(config, http.MethodGet, "/apis/things.example.com/v1/namespaces/a/things", ""); r.code != http.StatusServiceUnavailable {
		t.Errorf("a server that is not available: %d %s", r.code, r.body)
	}
	other.expose(h, client)
	want := apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Passed", Message: "all checks passed"}
	if diff := cmp.Diff(want, awaitAvailable(h, services, "Passed")); diff != "" {
		t.Error(diff)
	}
	checkPassedOn(t, h)
	checkShown(t, h, client)

	if r := h.raw(config, http.MethodGet, "/apis/things.example.com/v1/namespaces/a/things/redirected", ""); r.code != http.StatusBadGateway {
		t.Errorf("a redirect: %d %s", r.code, r.body)
	}
	watcher, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/things.example.com/v1/things").Param("watch", "true").Stream(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 16)
	if n, err := watcher.Read(line); err != nil || !strings.HasPrefix(string(line[:n]), `{"type":"ADDED"`) {
		t.Errorf("a watch: %q, %v", line[:n], err)
	}
	_ = watcher.Close()

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	created.Spec.InsecureSkipTLSVerify, created.Spec.CABundle, created.ResourceVersion = false, ca, ""
	current, err := services.Get(h.ctx, created.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current.Spec = created.Spec
	if _, err := services.Update(h.ctx, current, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := awaitAvailable(h, services, "FailedDiscoveryCheck"); !strings.Contains(got.Message, "certificate is valid for example.com, *.example.com, not things.default.svc") {
		t.Errorf("a certificate for another name: %+v", got)
	}
	if err := services.Delete(h.ctx, created.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := h.raw(config, http.MethodGet, "/apis/things.example.com/v1/namespaces/a/things", ""); r.code != http.StatusNotFound {
		t.Errorf("after the deletion: %d %s", r.code, r.body)
	}
}

// checkPassedOn checks the requests that reach the other server.
func checkPassedOn(t *testing.T, h *harness) {
	t.Helper()
	dev := h.server.Config("jane", auth.GroupMasters, "dev")
	r := h.raw(dev, http.MethodPut, "/apis/things.example.com/v1/namespaces/a/things/x?dryRun=All", "{}")
	var got map[string]any
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatalf("%d %s: %v", r.code, r.body, err)
	}
	want := map[string]any{
		"path": "/apis/things.example.com/v1/namespaces/a/things/x?dryRun=All", "method": "PUT", "user": []any{"jane"},
		"groups": []any{auth.GroupMasters, "dev", auth.GroupAuthenticated}, "authorization": nil, "impersonate": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	joe := h.server.Config("joe", auth.GroupAuthenticated)
	if r := h.raw(joe, http.MethodGet, "/apis/things.example.com/v1/namespaces/a/things/x", ""); r.code != http.StatusForbidden {
		t.Errorf("a user without roles: %d %s", r.code, r.body)
	}
}

// checkShown checks the versions of the other server that discovery and OpenAPI show.
func checkShown(t *testing.T, h *harness, client kubernetes.Interface) {
	t.Helper()
	groups, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	at, extensions := -1, -1
	for i, g := range groups {
		switch g.Name {
		case "things.example.com":
			at = i
		case "apiregistration.k8s.io", "coordination.k8s.io":
			extensions = max(extensions, i)
		}
	}
	if at < 0 || at < extensions {
		t.Errorf("the group is at %d, after %d", at, extensions)
	}
	var names []string
	for _, list := range lists {
		if list.GroupVersion == "things.example.com/v1" {
			for _, r := range list.APIResources {
				names = append(names, r.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"things", "things/status"}, names); diff != "" {
		t.Error(diff)
	}
	paths, err := client.Discovery().OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	document := paths["apis/things.example.com/v1"]
	if document == nil {
		t.Fatal("the OpenAPI document is not listed")
	}
	data, err := document.Schema("application/json")
	if err != nil || !strings.Contains(string(data), `"title":"things"`) {
		t.Errorf("the OpenAPI document: %s, %v", data, err)
	}
	merged, err := client.Discovery().OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, path := range merged.GetPaths().GetPath() {
		got[path.GetName()] = true
	}
	for path, want := range map[string]bool{"/apis/things.example.com/v1/things": true, "/apis/things.example.com/v2/things": false, "/api/v1/pods": true} {
		if got[path] != want {
			t.Errorf("the OpenAPI v2 document has %s: %v", path, got[path])
		}
	}
	first := h.raw(h.server.Config("jane", auth.GroupMasters), http.MethodGet, "/openapi/v2", "")
	again := h.raw(h.server.Config("jane", auth.GroupMasters), http.MethodGet, "/openapi/v2", "", "If-None-Match", first.header.Get("ETag"))
	if first.code != 200 || again.code != http.StatusNotModified {
		t.Errorf("the OpenAPI v2 document: %d, and again %d", first.code, again.code)
	}
}
