package routes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var router = Router{Name: "simulated"}

// made returns an Ingress that is older the smaller age is. Each rule is "HOST PATH TYPE SERVICE"; a host of - is none, and a
// path of - is a rule without paths.
func made(name string, age int, rules ...string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(age), 0))}}
	i.Spec.IngressClassName = &router.Name
	for _, text := range rules {
		words := strings.Fields(text)
		rule := networkingv1.IngressRule{Host: strings.TrimPrefix(words[0], "-")}
		if words[1] != "-" {
			rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: words[1], PathType: ptr.To(networkingv1.PathType(words[2])), Backend: *backend(words[3]),
			}}}
		}
		i.Spec.Rules = append(i.Spec.Rules, rule)
	}
	return i
}

func backend(service string) *networkingv1.IngressBackend {
	return &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

func withDefault(i *networkingv1.Ingress, service string) *networkingv1.Ingress {
	i.Spec.DefaultBackend = backend(service)
	return i
}

func tableOf(ingresses ...*networkingv1.Ingress) *Table {
	t := &Table{}
	t.SetClass(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: router.Name}, Spec: networkingv1.IngressClassSpec{Controller: Controller}})
	for _, i := range ingresses {
		t.SetIngress(i)
	}
	return t
}

// route returns the Service that a URL without a scheme is sent to, or the status of the answer.
func route(t *Table, link string) string {
	host, path, _ := strings.Cut(link, "/")
	d := t.Route(router, &Request{Host: HostOf(host), Path: "/" + path}, 0)
	if d.Status != 0 {
		return fmt.Sprint(d.Status)
	}
	return d.Backend.Service.Name
}

// The examples of https://kubernetes.io/docs/concepts/services-networking/ingress/#examples and #hostname-wildcards.
func TestDocumentedPathsAndHosts(t *testing.T) {
	for _, tt := range []struct {
		rules   []string
		request string
		want    bool
	}{
		{[]string{"/ Prefix"}, "/any/path", true},
		{[]string{"/foo Exact"}, "/foo", true},
		{[]string{"/foo Exact"}, "/bar", false},
		{[]string{"/foo Exact"}, "/foo/", false},
		{[]string{"/foo/ Exact"}, "/foo", false},
		{[]string{"/foo Prefix"}, "/foo", true},
		{[]string{"/foo Prefix"}, "/foo/", true},
		{[]string{"/foo/ Prefix"}, "/foo", true},
		{[]string{"/foo/ Prefix"}, "/foo/", true},
		{[]string{"/aaa/bb Prefix"}, "/aaa/bbb", false},
		{[]string{"/aaa/bbb Prefix"}, "/aaa/bbb", true},
		{[]string{"/aaa/bbb/ Prefix"}, "/aaa/bbb", true},
		{[]string{"/aaa/bbb Prefix"}, "/aaa/bbb/", true},
		{[]string{"/aaa/bbb Prefix"}, "/aaa/bbb/ccc", true},
		{[]string{"/aaa/bbb Prefix"}, "/aaa/bbbxyz", false},
		{[]string{"/ Prefix", "/aaa Prefix"}, "/aaa/ccc", true},
		{[]string{"/aaa Prefix"}, "/ccc", false},
		{[]string{"/foo ImplementationSpecific"}, "/foo/bar", true},
		{[]string{"/foo(/|$)(.*) ImplementationSpecific"}, "/foo/bar", false},
	} {
		i := made("a", 1)
		for _, r := range tt.rules {
			i.Spec.Rules = append(i.Spec.Rules, made("", 1, "- "+r+" web").Spec.Rules...)
		}
		if got := route(tableOf(i), "x.example"+tt.request) == "web"; got != tt.want {
			t.Errorf("%v of %s: %v", tt.rules, tt.request, got)
		}
	}
	wild := tableOf(made("a", 1, "*.foo.com / Prefix web"))
	for host, want := range map[string]string{"bar.foo.com": "web", "BAR.foo.com:8080": "web", "baz.bar.foo.com": "404", "foo.com": "404", ".foo.com": "404", "": "404"} {
		if got := route(wild, host+"/"); got != want {
			t.Errorf("host %q: %s", host, got)
		}
	}
}

func TestPrecedence(t *testing.T) {
	table := tableOf(
		withDefault(made("shop", 1, "shop.example /cart Prefix cart", "shop.example /cart Exact exact", "shop.example - -"), "fallback"),
		made("young", 2, "shop.example /cart Prefix younger", "shop.example /new Prefix new"),
		made("wild", 3, "*.example /cart Prefix wild", "*.example /w Prefix wild"),
		made("any", 4, "- /w Prefix any", "- /any Prefix any"),
		withDefault(made("other", 5, "other.example /x Prefix x"), "other"),
	)
	for link, want := range map[string]string{
		"shop.example/cart": "exact", "shop.example/cart/": "cart", "shop.example/cart/1": "cart", "shop.example/new": "new",
		"shop.example/w": "wild", "shop.example/any": "any", "shop.example/": "fallback", "x.example/cart": "wild", "192.0.2.1/w": "any",
		"other.example/y": "other", "nothing.example/": "fallback",
	} {
		if got := route(table, link); got != want {
			t.Errorf("%s: %s, want %s", link, got, want)
		}
	}
	table.DeleteIngress(metaKey("shop"))
	for link, want := range map[string]string{"shop.example/cart": "younger", "nothing.example/": "other"} {
		if got := route(table, link); got != want {
			t.Errorf("after a deletion, %s: %s, want %s", link, got, want)
		}
	}
	for _, name := range []string{"young", "wild", "any", "other"} {
		table.DeleteIngress(metaKey(name))
	}
	if len(table.classes) > 0 || len(table.ingresses) > 0 {
		t.Errorf("left: %+v", table)
	}
}

func metaKey(name string) struct{ Namespace, Name string } {
	return struct{ Namespace, Name string }{"default", name}
}

func TestBackendsWithoutAService(t *testing.T) {
	i := made("a", 1, "- /r Prefix web")
	i.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: "pictures"}}
	if got := route(tableOf(i), "x/r"); got != "503" {
		t.Error(got)
	}
	if got := Problems(i); !slices.Equal(got, []string{"any host /r: Bucket pictures: backends that are resources are not supported"}) {
		t.Error(got)
	}
	if got := Problems(made("a", 1, "shop.example - -")); !slices.Equal(got, []string{"shop.example: the rule has no paths, and the Ingress no default backend"}) {
		t.Error(got)
	}
	if got := Problems(withDefault(made("a", 1, "shop.example - -"), "web")); got != nil {
		t.Error(got)
	}
	if got := Problems(made("a", 1)); got != nil { // neither rules nor a backend
		t.Error(got)
	}
	if got := route(tableOf(made("a", 1)), "x/"); got != "404" {
		t.Error(got)
	}
}

// Of several rules for one host and path, the first in the order of their objects decides.
func TestConflicts(t *testing.T) {
	table := tableOf(
		made("a", 2, "shop.example /cart Prefix cart", "shop.example /cart/ Prefix again", "shop.example /cart Exact exact", "- / Prefix any"),
		made("b", 1, "shop.example /cart Prefix older", "other.example / Prefix other"),
		made("c", 3, "- / Prefix any"),
		made("d", 3, "*.example / Prefix wild"),
	)
	older := "Ingress default/b, which is older or comes first by name, has this host and path"
	for name, want := range map[string][]string{
		"a": {"shop.example /cart: " + older, "shop.example /cart/: " + older}, "b": nil, "d": nil, "nosuch": nil,
		"c": {"any host /: Ingress default/a, which is older or comes first by name, has this host and path"},
	} {
		if got := table.Lost(metaKey(name)); !slices.Equal(got, want) {
			t.Errorf("%s has lost %q", name, got)
		}
	}
	for name, want := range map[string]int{"a": 1, "b": 1, "c": 0, "d": 0, "nosuch": 0} {
		if got := table.Outdone(metaKey(name)); len(got) != want {
			t.Errorf("%s outdoes %v", name, got)
		}
	}
	table.DeleteIngress(metaKey("b"))
	if got, want := table.Lost(metaKey("a")), []string{"shop.example /cart/: an earlier rule of this Ingress has this host and path"}; !slices.Equal(got, want) {
		t.Errorf("a has lost %q", got)
	}
}

func TestCertificates(t *testing.T) {
	secured := func(name string, age int, secret string, hosts ...string) *networkingv1.Ingress {
		i := made(name, age)
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: hosts, SecretName: secret}}
		return i
	}
	table := tableOf(secured("new", 2, "new", "shop.example"), secured("old", 1, "old", "shop.example"), secured("wild", 3, "wild", "*.example"), secured("any", 4, "any"), secured("none", 0, "", "shop.example"))
	for host, want := range map[string]string{"shop.example": "old new wild any", "x.example": "wild any", "": "any"} {
		var got []string
		for _, secret := range table.Certificates(router, host, HTTPSPort) {
			got = append(got, secret.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestClasses(t *testing.T) {
	old := made("old", 1, "a.example / Prefix a")
	old.Spec.IngressClassName, old.Annotations = nil, map[string]string{annotationClass: router.Name}
	none := made("none", 1, "b.example / Prefix b")
	none.Spec.IngressClassName = nil
	table := tableOf(old, none)
	if got := route(table, "a.example/"); got != "a" {
		t.Error(got)
	}
	if got := route(table, "b.example/"); got != "404" {
		t.Error(got)
	}
	if got := table.Named("a.example"); len(got) != 1 || got[0] != router || len(table.Named("b.example")) > 0 {
		t.Error(got)
	}
	table.DeleteClass(router.Name)
	if table.Serves() || table.Served(router) || len(table.Named("a.example")) > 0 {
		t.Error("the class is served after its deletion")
	}
}

func TestRouterOfAService(t *testing.T) {
	for _, name := range []string{"simulated", "a.b", strings.Repeat("x", 200)} {
		key := (Router{Name: name}).Service()
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{Annotation: Router{Name: name}.Value()}}}
		if got, ok := RouterOf(s); !ok || got.Name != name || len(key.Name) > 63 || strings.Contains(key.Name, ".") {
			t.Errorf("%s: %v, %v", name, key, got)
		}
	}
	if _, ok := RouterOf(&corev1.Service{}); ok {
		t.Error("a Service without the annotation leads to a router")
	}
}

// Whatever is set and removed, a table routes as one that has only what is left, and a naive search agrees.
func FuzzRoute(f *testing.F) {
	f.Add("shop.example", "/cart", "*.example", "/cart/", "shop.example", "/cart/1", true)
	f.Add("", "/", "*.", "//", "a.", "/a//b", false)
	f.Add("a.b", "/[", "*.b", "/%2F", "A.B:80", "/%2f/", true)
	f.Fuzz(func(t *testing.T, host1, path1, host2, path2, host, path string, exact bool) {
		rule := func(name string, age int, host, path string, exact bool) *networkingv1.Ingress {
			i := made(name, age, "- / Prefix "+name)
			i.Spec.Rules[0].Host, i.Spec.Rules[0].HTTP.Paths[0].Path = host, path
			if exact {
				i.Spec.Rules[0].HTTP.Paths[0].PathType = ptr.To(networkingv1.PathTypeExact)
			}
			return i
		}
		a, b := rule("a", 1, host1, path1, exact), rule("b", 2, host2, path2, false)
		r := &Request{Host: HostOf(host), Path: path}
		table := tableOf(a, b)
		both := table.Route(router, r, 0)
		if both.Rule != nil && !naive(both.Rule, r) || both.Rule == nil && (naive(compile(a).rules[0], r) || naive(compile(b).rules[0], r)) {
			t.Errorf("%+v for %+v of %v and %v", both, r, compile(a).rules[0], compile(b).rules[0])
		}
		table.DeleteIngress(metaKey("a"))
		if got, want := table.Route(router, r, 0), tableOf(b).Route(router, r, 0); got.Status != want.Status {
			t.Errorf("after a deletion %+v, want %+v", got, want)
		}
		_ = table.Named(r.Host)
	})
}

// naive reports whether a rule matches a request.
func naive(rule *Rule, r *Request) bool {
	suffix, wild := strings.CutPrefix(rule.Host, "*.")
	first, rest, dotted := strings.Cut(r.Host, ".")
	if wild && (!dotted || first == "" || rest != suffix || isAddress(r.Host)) || !wild && rule.Host != "" && rule.Host != r.Host {
		return false
	}
	if rule.Type == Exact {
		return rule.Path == r.Path
	}
	want, got := strings.Split(strings.TrimRight(rule.Path, "/"), "/"), strings.Split(strings.TrimRight(r.Path, "/"), "/")
	return len(got) >= len(want) && slices.Equal(got[:len(want)], want)
}

// The cost of a request does not depend on the rules of other hosts, nor on the other paths of its own.
func BenchmarkRoute(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		table := tableOf()
		for i := range n {
			table.SetIngress(made(fmt.Sprint("i", i), i, fmt.Sprintf("h%d.example /a Prefix web", i), fmt.Sprintf("shop.example /p/%d Prefix web", i)))
		}
		r := &Request{Host: "shop.example", Path: "/p/7/x/y"}
		b.Run(fmt.Sprint("route/", n), func(b *testing.B) {
			for b.Loop() {
				if table.Route(router, r, 0).Rule == nil {
					b.Fatal("no rule")
				}
			}
		})
		changed := made("i7", 7, "h7.example /a Prefix web", "shop.example /p/7 Prefix web")
		b.Run(fmt.Sprint("update/", n), func(b *testing.B) {
			for b.Loop() {
				table.SetIngress(changed)
			}
		})
	}
}
