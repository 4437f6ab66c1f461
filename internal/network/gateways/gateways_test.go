package gateways

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/network/routes"
)

// snapshot reads objects: a class, and what is given. The Services a and b of the namespaces default and other have the port 80, and the
// Secrets named good have certificates.
func snapshot(t *testing.T, objects string) *Snapshot {
	t.Helper()
	s := &Snapshot{
		Namespace: func(name string) map[string]string { return map[string]string{"name": name} },
		Service: func(key types.NamespacedName) *corev1.Service {
			if key.Name != "a" && key.Name != "b" && key.Name != "h2" {
				return nil
			}
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			if key.Name == "h2" {
				service.Spec.Ports[0].AppProtocol = ptr.To("example.com/other")
			}
			return service
		},
		Certified: func(key types.NamespacedName) bool { return key.Name == "good" },
	}
	class := &Class{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}}
	class.Spec.ControllerName = routes.Controller
	s.Classes = []*Class{class}
	for _, text := range strings.Split(strings.ReplaceAll(objects, "\n\n", "\n"), "\n---\n") {
		kind, _, _ := strings.Cut(text, "\n")
		var into any
		switch kind {
		case "kind: Gateway":
			g := &Gateway{}
			into, s.Gateways = g, append(s.Gateways, g)
		case "kind: HTTPRoute":
			r := &Route{}
			into, s.Routes = r, append(s.Routes, r)
		default:
			g := &Grant{}
			into, s.Grants = g, append(s.Grants, g)
		}
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
	return s
}

// shown returns conditions as TYPE=STATUS:REASON, without those that are as they should be.
func shown(all []metav1.Condition) string {
	var list []string
	for _, c := range all {
		if good := metav1.ConditionTrue; c.Type == conflicted && c.Status == metav1.ConditionFalse || c.Type != conflicted && c.Status == good && c.Reason == c.Type {
			continue
		}
		list = append(list, fmt.Sprintf("%s=%s:%s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

const gatewayHeader = "kind: Gateway\nmetadata: {name: g, namespace: default}\nspec:\n  gatewayClassName: simulated\n  listeners:\n"

func TestListeners(t *testing.T) {
	for _, tt := range []struct{ listeners, gateway, want string }{
		{"{name: a, port: 80, protocol: HTTP}", "", ""},
		{"{name: a, port: 80, protocol: TCP}", "Accepted=False:ListenersNotValid", "Accepted=False:UnsupportedProtocol Programmed=False:Invalid"},
		{"{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good}]}}", "", ""},
		{"{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: bad}]}}", "Accepted=False:ListenersNotValid", "Programmed=False:Invalid ResolvedRefs=False:InvalidCertificateRef"},
		{"{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good, kind: ConfigMap}]}}", "Accepted=False:ListenersNotValid", "Programmed=False:Invalid ResolvedRefs=False:InvalidCertificateRef"},
		{"{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good, namespace: other}]}}", "Accepted=False:ListenersNotValid", "Programmed=False:Invalid ResolvedRefs=False:RefNotPermitted"},
		{"{name: a, port: 443, protocol: HTTPS}", "Accepted=False:ListenersNotValid", "Programmed=False:Invalid ResolvedRefs=False:InvalidCertificateRef"},
		{"{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}}", "Accepted=False:ListenersNotValid", "Programmed=False:Invalid ResolvedRefs=False:InvalidRouteKinds"},
		{"{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}, {kind: HTTPRoute}]}}", "Accepted=True:ListenersNotValid", "ResolvedRefs=False:InvalidRouteKinds"},
		{"{name: a, port: 80, protocol: HTTP}\n  - {name: b, port: 80, protocol: HTTP, hostname: x.example}", "", ""},
		{"{name: a, port: 80, protocol: HTTP}\n  - {name: b, port: 80, protocol: HTTP}", "Accepted=False:ListenersNotValid", "Accepted=False:HostnameConflict Conflicted=True:HostnameConflict Programmed=False:Invalid"},
		{"{name: a, port: 80, protocol: HTTP}\n  - {name: b, port: 80, protocol: HTTPS, tls: {certificateRefs: [{name: good}]}}", "Accepted=False:ListenersNotValid", "Accepted=False:ProtocolConflict Conflicted=True:ProtocolConflict Programmed=False:Invalid"},
	} {
		s := snapshot(t, gatewayHeader+"  - "+tt.listeners)
		got := Decide(s).Gateways[types.NamespacedName{Namespace: "default", Name: "g"}].Status
		ofGateway := strings.TrimSpace(strings.NewReplacer("Programmed=False:AddressNotAssigned", "", "Programmed=False:Invalid", "").Replace(shown(got.Conditions)))
		if ofGateway != tt.gateway || shown(got.Listeners[0].Conditions) != tt.want {
			t.Errorf("%s:\n got %q, %q\nwant %q, %q", tt.listeners, ofGateway, shown(got.Listeners[0].Conditions), tt.gateway, tt.want)
		}
	}
}

const grant = "\n---\nkind: ReferenceGrant\nmetadata: {name: x, namespace: other}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}], to: [{group: '', kind: Service, name: a}]}"

func TestRouteStatuses(t *testing.T) {
	const listeners = "  - {name: http, port: 80, protocol: HTTP}\n  - {name: sub, port: 80, protocol: HTTP, hostname: '*.sub.example', allowedRoutes: {namespaces: {from: All}}}\n"
	for _, tt := range []struct{ spec, want string }{
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: a, port: 80}]}]}", ""},
		{"{parentRefs: [{name: g, sectionName: nosuch}]}", "Accepted=False:NoMatchingParent"},
		{"{parentRefs: [{name: g, port: 81}]}", "Accepted=False:NoMatchingParent"},
		{"{parentRefs: [{name: g, sectionName: sub}], hostnames: [a.example]}", "Accepted=False:NoMatchingListenerHostname"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: none, port: 80}]}]}", "ResolvedRefs=False:BackendNotFound"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: a, port: 81}]}]}", "ResolvedRefs=False:BackendNotFound"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: a, port: 80, kind: Bucket}]}]}", "ResolvedRefs=False:InvalidKind"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: h2, port: 80}]}]}", "ResolvedRefs=False:UnsupportedProtocol"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: b, port: 80, namespace: other}]}]}", "ResolvedRefs=False:RefNotPermitted"},
		{"{parentRefs: [{name: g}], rules: [{backendRefs: [{name: a, port: 80, namespace: other}]}]}", ""},
		{"{parentRefs: [{name: g}], rules: [{matches: [{path: {type: RegularExpression, value: '['}}]}]}", "Accepted=False:UnsupportedValue"},
		{"{parentRefs: [{name: g}], rules: [{timeouts: {request: 1h1m, backendRequest: 0s}, retry: {codes: [503], backoff: 1s}}]}", ""},
		{"{parentRefs: [{name: g}], rules: [{timeouts: {request: soon}}]}", "Accepted=False:UnsupportedValue"},
		{"{parentRefs: [{name: g}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}]}]}", "Accepted=False:IncompatibleFilters"},
	} {
		s := snapshot(t, gatewayHeader+listeners+"---\nkind: HTTPRoute\nmetadata: {name: r, namespace: default}\nspec: "+tt.spec+grant)
		got := Decide(s).Routes[types.NamespacedName{Namespace: "default", Name: "r"}]
		if len(got) != 1 || shown(got[0].Conditions) != tt.want {
			t.Errorf("%s: got %+v, want %q", tt.spec, got, tt.want)
		}
	}
	s := snapshot(t, gatewayHeader+"  - {name: http, port: 80, protocol: HTTP}\n---\nkind: HTTPRoute\nmetadata: {name: r, namespace: other}\nspec: {parentRefs: [{name: g, namespace: default}, {name: elsewhere}, {name: g, kind: Service}]}")
	if got := Decide(s).Routes[types.NamespacedName{Namespace: "other", Name: "r"}]; len(got) != 1 || shown(got[0].Conditions) != "Accepted=False:NotAllowedByListeners" {
		t.Errorf("of another namespace: %+v", got)
	}
}

func TestRules(t *testing.T) {
	s := snapshot(t, gatewayHeader+`  - {name: http, port: 80, protocol: HTTP}
  - {name: wild, port: 80, protocol: HTTP, hostname: "*.example"}
---
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec:
  parentRefs: [{name: g}]
  hostnames: [shop.example, "*.deep.example"]
  rules:
  - backendRefs: [{name: a, port: 80, weight: 3}, {name: b, port: 80, weight: 1}]
  - matches: [{path: {value: /p}}]
    backendRefs: [{name: b, port: 80}]
  - matches: [{path: {value: /p}, method: POST}, {path: {value: /p}, headers: [{name: x-a, value: "1"}]}, {path: {value: /p}, queryParams: [{name: q, value: v}]}, {path: {type: Exact, value: /p/x}}]
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /none}}]
    backendRefs: [{name: nothing, port: 80}]
  - matches: [{path: {value: /zero}}]
    backendRefs: [{name: a, port: 80, weight: 0}]
  - matches: [{path: {value: /old/}}]
    filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}, scheme: https, port: 8443, statusCode: 301}}]
`)
	table := &routes.Table{}
	table.SetGateways(Decide(s).Table)
	router := routes.Router{Namespace: "default", Name: "g"}
	for _, tt := range []struct {
		request routes.Request
		want    string
	}{
		{routes.Request{Host: "shop.example", Path: "/p"}, "b"},
		{routes.Request{Host: "x.y.deep.example", Path: "/p/y"}, "b"},
		{routes.Request{Host: "shop.example", Path: "/p/x"}, "a"},
		{routes.Request{Host: "shop.example", Path: "/p", Method: "POST"}, "a"},
		{routes.Request{Host: "shop.example", Path: "/p", Header: map[string][]string{"X-A": {"1"}}}, "a"},
		{routes.Request{Host: "shop.example", Path: "/p", Header: map[string][]string{"X-A": {"2"}}}, "b"},
		{routes.Request{Host: "shop.example", Path: "/p", Query: map[string][]string{"q": {"v"}}}, "a"},
		{routes.Request{Host: "shop.example", Path: "/none"}, "500"},
		{routes.Request{Host: "shop.example", Path: "/zero"}, "500"},
		{routes.Request{Host: "deep.example", Path: "/"}, "404"},
		{routes.Request{Host: "other.example", Path: "/p"}, "404"},
		{routes.Request{Host: "shop.example", Path: "/old/a"}, "https://shop.example:8443/new/a"},
		{routes.Request{Host: "shop.example", Path: "/old"}, "https://shop.example:8443/new"},
	} {
		tt.request.Port = 80
		d := table.Route(router, &tt.request, 0)
		got := fmt.Sprint(d.Status)
		switch {
		case d.Status != 0:
		case d.Rule.Filters.Redirect != nil:
			got = d.Rule.Filters.Redirect.Location(d.Rule, &tt.request, "http")
		default:
			got = d.Backend.Service.Name
		}
		if got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.request, got, tt.want)
		}
	}
	counts := map[string]int{}
	for n := range uint64(400) {
		d := table.Route(router, &routes.Request{Host: "shop.example", Path: "/", Port: 80}, n*0x9E3779B97F4A7C15)
		counts[d.Backend.Service.Name]++
	}
	if counts["a"] < 298 || counts["a"] > 302 {
		t.Errorf("shares %v", counts)
	}
}

func TestMirrors(t *testing.T) {
	s := snapshot(t, gatewayHeader+`  - {name: http, port: 80, protocol: HTTP}
---
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec:
  parentRefs: [{name: g}]
  rules:
  - filters:
    - {type: RequestMirror, requestMirror: {backendRef: {name: a, port: 80}, percent: 20}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: a, port: 80}, fraction: {numerator: 1, denominator: 4}}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: a, port: 80}}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: a, port: 80}, percent: 0}}
    backendRefs: [{name: b, port: 80}]
`)
	table := &routes.Table{}
	table.SetGateways(Decide(s).Table)
	d := table.Route(routes.Router{Namespace: "default", Name: "g"}, &routes.Request{Path: "/", Port: 80}, 0)
	for i, want := range []int{200, 250, 1000, 0} {
		got := 0
		for n := range uint64(1000) {
			if d.Rule.Filters.Mirrors[i].Chosen(n * 0x9E3779B97F4A7C15) {
				got++
			}
		}
		if got < want-5 || got > want+5 {
			t.Errorf("mirror %d gets %d of 1000 requests, want %d", i, got, want)
		}
	}
}

func TestParametersAreRefused(t *testing.T) {
	s := snapshot(t, strings.Replace(gatewayHeader, "spec:\n", "spec:\n  infrastructure: {parametersRef: {name: x}}\n", 1)+"  - {name: http, port: 80, protocol: HTTP}")
	got := Decide(s).Gateways[types.NamespacedName{Namespace: "default", Name: "g"}]
	if text := shown(got.Status.Conditions); text != "Accepted=False:InvalidParameters Programmed=False:Invalid" || got.Service != nil {
		t.Errorf("%s, Service %v", text, got.Service)
	}
}

func TestIntersection(t *testing.T) {
	for _, tt := range []struct {
		listener, route, want string
	}{
		{"", "", ""},
		{"a.example", "", "a.example"},
		{"", "a.example", "a.example"},
		{"*.example", "a.example b.example c.com", "a.example b.example"},
		{"a.example", "*.example", "a.example"},
		{"*.example", "*.a.example", "*.a.example"},
		{"*.a.example", "*.example", "*.a.example"},
		{"*.example", "example", "-"},
		{"a.example", "b.example", "-"},
	} {
		got := intersection(tt.listener, strings.Fields(tt.route))
		if want := strings.Fields(tt.want); tt.want == "-" && len(got) > 0 || tt.want != "-" && strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
