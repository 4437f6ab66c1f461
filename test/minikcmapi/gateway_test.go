package minikcmapi

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/minikcmtest"
)

// gatewayDefinitions installs definitions of the kinds of the Gateway API, without their schemas.
func gatewayDefinitions(t *testing.T, c *minikcmtest.Cluster) {
	t.Helper()
	text := ""
	for _, of := range [][]string{{"GatewayClass", "gatewayclasses", "Cluster"}, {"Gateway", "gateways", "Namespaced"}, {"HTTPRoute", "httproutes", "Namespaced"}, {"ReferenceGrant", "referencegrants", "Namespaced"}} {
		text += fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.gateway.networking.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: gateway.networking.k8s.io
  scope: %[3]s
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: %[4]s}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, of[0], of[1], of[2], strings.ToLower(of[0]))
	}
	file := filepath.Join(t.TempDir(), "definitions.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.CreateCRDs(file)
}

// gatewayClient returns the client for a kind of the Gateway API.
func (m *machine) gatewayClient(resource string) dynamic.NamespaceableResourceInterface {
	m.t.Helper()
	client, err := dynamic.NewForConfig(m.Config())
	if err != nil {
		m.t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: resource})
}

// putGateway creates an object of the Gateway API.
func (m *machine) putGateway(resource, kind, metadata, spec string) {
	m.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: %s\nspec: %s\n", kind, metadata, spec)), &o.Object); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.gatewayClient(resource).Namespace(o.GetNamespace()).Create(m.t.Context(), o, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// conditionsOf returns the conditions in a list of maps as TYPE=STATUS:REASON.
func conditionsOf(list any) string {
	var all []string
	conditions, _ := list.([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			all = append(all, fmt.Sprintf("%v=%v:%v", c["type"], c["status"], c["reason"]))
		}
	}
	return strings.Join(all, " ")
}

func newGateways(t *testing.T) *machine {
	t.Helper()
	m := &machine{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Seed, o.Nodes.Stages.Watch = 7, true
		o.API.Extensions = []minikcm.Extension{outside.Extension(outside.Options{Proxy: true})}
		o.API.LoadBalancers = outside.LoadBalancers(o.Seed)
	})), t}
	gatewayDefinitions(t, m.Cluster)
	for _, name := range []string{"a", "b"} {
		m.pod(name, nil)
		m.service(name, corev1.ServiceTypeClusterIP, nil)
	}
	m.putGateway("gatewayclasses", "GatewayClass", "{name: simulated}", "{controllerName: minikcm.dev/simulated}")
	m.putGateway("gatewayclasses", "GatewayClass", "{name: foreign}", "{controllerName: example.com/foreign}")
	m.putGateway("gateways", "Gateway", "{name: web, namespace: default}", "{gatewayClassName: simulated, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	m.putGateway("gateways", "Gateway", "{name: foreign, namespace: default}", "{gatewayClassName: foreign, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	m.putGateway("httproutes", "HTTPRoute", "{name: shop, namespace: default}", `
  parentRefs: [{name: web}]
  hostnames: [shop.example]
  rules:
  - backendRefs: [{name: a, port: 8081}]
  - matches: [{path: {value: /b}}]
    filters:
    - {type: URLRewrite, urlRewrite: {hostname: inner.example, path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
    - {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-by, value: router}]}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: a, port: 8081}}}
    backendRefs: [{name: b, port: 8081}]
  - matches: [{path: {value: /later}}]
    backendRefs: [{name: later, port: 8081}]
  - matches: [{path: {value: /go}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example, statusCode: 301}}]
`)
	m.pass(10 * time.Second)
	return m
}

func TestGateways(t *testing.T) {
	t.Parallel()
	m := newGateways(t)
	gateway, err := m.gatewayClient("gateways").Namespace("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service, err := m.Client().CoreV1().Services("default").Get(t.Context(), "web-simulated", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, _ := gateway.Object["status"].(map[string]any)
	if got, want := conditionsOf(status["conditions"]), "Accepted=True:Accepted Programmed=True:Programmed"; got != want {
		t.Errorf("conditions %s, want %s", got, want)
	}
	if got := fmt.Sprint(status["addresses"]); got != "[map[type:IPAddress value:"+service.Status.LoadBalancer.Ingress[0].IP+"]]" {
		t.Errorf("addresses %s", got)
	}
	if foreign, err := m.gatewayClient("gateways").Namespace("default").Get(t.Context(), "foreign", metav1.GetOptions{}); err != nil || foreign.Object["status"] != nil {
		t.Errorf("of another controller: %v, %v", foreign, err)
	}
	routeStatus := func(want string) {
		t.Helper()
		route, err := m.gatewayClient("httproutes").Namespace("default").Get(t.Context(), "shop", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
		got := ""
		for _, p := range parents {
			if p, ok := p.(map[string]any); ok {
				got += conditionsOf(p["conditions"])
			}
		}
		if got != want {
			t.Errorf("the route has %q, want %q", got, want)
		}
	}
	routeStatus("Accepted=True:Accepted ResolvedRefs=False:BackendNotFound")
	at := m.entrances().Proxy
	for _, tt := range []struct{ url, want string }{
		{"http://shop.example/", "200 pod: a\n"},
		{"http://shop.example/later", "500 minikcm: 500 Internal Server Error: the Service default/later does not exist\n"},
		{"http://web-simulated/", "404 minikcm: 404 Not Found: no rule at the listener http of the Gateway default/web matches web-simulated/\n"},
	} {
		if got := get(t, plain(at), tt.url); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.url, got, tt.want)
		}
	}
	answer := func(url string) *http.Response {
		t.Helper()
		client := &http.Client{Transport: plain(at), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = rs.Body.Close()
		return rs
	}
	if rs := answer("http://shop.example/b/c"); rs.StatusCode != http.StatusOK || rs.Header.Get("X-By") != "router" {
		t.Errorf("got %+v", rs)
	}
	if rs := answer("http://shop.example/go/on?x=y"); rs.StatusCode != http.StatusMovedPermanently || rs.Header.Get("Location") != "http://b.example/go/on?x=y" {
		t.Errorf("got %+v", rs)
	}
	report, err := m.Kubelets().Reach(t.Context(), &reach.Ask{From: "a", To: "http://shop.example/b"})
	if err != nil || !report.Reached || report.Pod != "default/b" || report.Route != "HTTPRoute default/shop, shop.example /b (Prefix)" {
		t.Errorf("report %+v, %v", report, err)
	}
	m.pod("later", nil)
	m.service("later", corev1.ServiceTypeClusterIP, nil)
	m.pass(10 * time.Second)
	routeStatus("Accepted=True:Accepted ResolvedRefs=True:ResolvedRefs")
	if got := get(t, plain(at), "http://shop.example/later"); !strings.HasPrefix(got, "200 pod: later\n") {
		t.Errorf("got %q", got)
	}
	if err := m.gatewayClient("gateways").Namespace("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.pass(10 * time.Second)
	routeStatus("")
	m.Eventually("the Service is deleted", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := m.Client().CoreV1().Services("default").Get(ctx, "web-simulated", metav1.GetOptions{}); err == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
}
