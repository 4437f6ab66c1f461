package dns_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/services"
)

const cluster = `
kind: Service
metadata: {namespace: default, name: kubernetes}
spec: {clusterIP: 10.96.0.1, ports: [{name: https, port: 443}]}
---
kind: Service
metadata: {namespace: shop, name: web}
spec: {clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 'fd00::7'], ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}
---
kind: Service
metadata: {namespace: shop, name: db}
spec: {clusterIP: None, ports: [{name: sql, port: 5432}]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: sql, port: 5432, protocol: TCP}]
endpoints:
- {addresses: [10.244.0.6], hostname: db-1, conditions: {ready: true}}
- {addresses: [10.244.0.5], hostname: db-0, conditions: {ready: true}}
- {addresses: [10.244.0.8], hostname: db-2, conditions: {ready: false, serving: false}}
- {addresses: [10.244.0.9]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: db-2, labels: {kubernetes.io/service-name: db}}
addressType: IPv6
ports: [{name: sql, port: 5432, protocol: TCP}]
endpoints:
- {addresses: ['fd00::5'], hostname: db-0}
---
kind: Service
metadata: {namespace: shop, name: empty}
spec: {clusterIP: None, ports: [{name: sql, port: 5432}]}
---
kind: Service
metadata: {namespace: shop, name: alias}
spec: {type: ExternalName, externalName: web.shop.svc.cluster.local}
---
kind: Service
metadata: {namespace: shop, name: out}
spec: {type: ExternalName, externalName: example.com}
---
kind: Service
metadata: {namespace: shop, name: circle}
spec: {type: ExternalName, externalName: circle.shop.svc.cluster.local}
---
kind: Service
metadata: {namespace: shop, name: there}
spec: {type: ExternalName, externalName: back.shop.svc.cluster.local}
---
kind: Service
metadata: {namespace: shop, name: back}
spec: {type: ExternalName, externalName: there.shop.svc.cluster.local}
---
kind: Service
metadata: {namespace: shop, name: gone}
spec: {type: ExternalName, externalName: nosuch.shop.svc.cluster.local}
---
kind: Service
metadata: {namespace: shop, name: twice}
spec: {type: ExternalName, externalName: alias.shop.svc.cluster.local}
`

func zone(t testing.TB) *dns.Zone {
	t.Helper()
	var table services.Table
	for _, text := range strings.Split(cluster, "---\n") {
		switch {
		case strings.Contains(text, "kind: EndpointSlice"):
			var s discoveryv1.EndpointSlice
			if err := yaml.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			table.SetSlice(&s)
		default:
			var s corev1.Service
			if err := yaml.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			table.SetService(&s)
		}
	}
	return &dns.Zone{Services: &table, HasNamespace: func(name string) bool { return name == "default" || name == "shop" }}
}

func TestAnswers(t *testing.T) {
	z := zone(t)
	const end = ".svc.cluster.local"
	for _, c := range []struct {
		name string
		of   dns.Type
		want string
	}{
		{"kubernetes.default" + end, dns.A, "NOERROR: kubernetes.default.svc.cluster.local. A 10.96.0.1"},
		{"Web.Shop.SVC.cluster.LOCAL.", dns.A, "NOERROR: web.shop.svc.cluster.local. A 10.96.0.7"},
		{"web.shop" + end, dns.AAAA, "NOERROR: web.shop.svc.cluster.local. AAAA fd00::7"},
		{"kubernetes.default" + end, dns.AAAA, "NOERROR"},
		{"nosuch.shop" + end, dns.A, "NXDOMAIN"},
		{"web.nosuch" + end, dns.A, "NXDOMAIN"},
		{"shop" + end, dns.A, "NOERROR"},
		{"svc.cluster.local", dns.A, "NOERROR"},
		{"cluster.local", dns.A, "NOERROR"},
		{"web.cluster.local", dns.A, "NXDOMAIN"},
		{"db.shop" + end, dns.A, "NOERROR: db.shop.svc.cluster.local. A 10.244.0.5; db.shop.svc.cluster.local. A 10.244.0.6; db.shop.svc.cluster.local. A 10.244.0.9"},
		{"db.shop" + end, dns.AAAA, "NOERROR: db.shop.svc.cluster.local. AAAA fd00::5"},
		{"db-0.db.shop" + end, dns.A, "NOERROR: db-0.db.shop.svc.cluster.local. A 10.244.0.5"},
		{"db-2.db.shop" + end, dns.A, "NXDOMAIN"},
		{"10-244-0-9.db.shop" + end, dns.A, "NOERROR: 10-244-0-9.db.shop.svc.cluster.local. A 10.244.0.9"},
		{"a.db-0.db.shop" + end, dns.A, "NXDOMAIN"},
		{"empty.shop" + end, dns.A, "NXDOMAIN"},
		{"_http._tcp.web.shop" + end, dns.SRV, "NOERROR: _http._tcp.web.shop.svc.cluster.local. SRV 0 100 80 web.shop.svc.cluster.local."},
		{"_dns._udp.web.shop" + end, dns.SRV, "NOERROR: _dns._udp.web.shop.svc.cluster.local. SRV 0 100 53 web.shop.svc.cluster.local."},
		{"_dns._tcp.web.shop" + end, dns.SRV, "NXDOMAIN"},
		{"_http._tcp.web.shop" + end, dns.A, "NOERROR"},
		{"web.shop" + end, dns.SRV, "NOERROR: web.shop.svc.cluster.local. SRV 0 50 80 web.shop.svc.cluster.local.; web.shop.svc.cluster.local. SRV 0 50 53 web.shop.svc.cluster.local."},
		{"_sql._tcp.db.shop" + end, dns.SRV, "NOERROR: _sql._tcp.db.shop.svc.cluster.local. SRV 0 25 5432 db-0.db.shop.svc.cluster.local.; " +
			"_sql._tcp.db.shop.svc.cluster.local. SRV 0 25 5432 db-1.db.shop.svc.cluster.local.; _sql._tcp.db.shop.svc.cluster.local. SRV 0 25 5432 10-244-0-9.db.shop.svc.cluster.local.; " +
			"_sql._tcp.db.shop.svc.cluster.local. SRV 0 25 5432 db-0.db.shop.svc.cluster.local."},
		{"alias.shop" + end, dns.A, "NOERROR: alias.shop.svc.cluster.local. CNAME web.shop.svc.cluster.local.; web.shop.svc.cluster.local. A 10.96.0.7"},
		{"alias.shop" + end, dns.CNAME, "NOERROR: alias.shop.svc.cluster.local. CNAME web.shop.svc.cluster.local."},
		{"alias.shop" + end, dns.AAAA, "NOERROR: alias.shop.svc.cluster.local. CNAME web.shop.svc.cluster.local.; web.shop.svc.cluster.local. AAAA fd00::7"},
		{"twice.shop" + end, dns.A, "NOERROR: twice.shop.svc.cluster.local. CNAME alias.shop.svc.cluster.local.; " +
			"alias.shop.svc.cluster.local. CNAME web.shop.svc.cluster.local.; web.shop.svc.cluster.local. A 10.96.0.7"},
		{"circle.shop" + end, dns.A, "NOERROR"},
		{"there.shop" + end, dns.A, "NOERROR"},
		{"gone.shop" + end, dns.A, "NOERROR"},
		{"gone.shop" + end, dns.CNAME, "NOERROR: gone.shop.svc.cluster.local. CNAME nosuch.shop.svc.cluster.local."},
		{"out.shop" + end, dns.A, "OUTSIDE: out.shop.svc.cluster.local. CNAME example.com."},
		{"7.0.96.10.in-addr.arpa", dns.PTR, "NOERROR: 7.0.96.10.in-addr.arpa. PTR web.shop.svc.cluster.local."},
		{"5.0.244.10.in-addr.arpa", dns.PTR, "NOERROR: 5.0.244.10.in-addr.arpa. PTR db-0.db.shop.svc.cluster.local."},
		{"8.0.244.10.in-addr.arpa", dns.PTR, "NXDOMAIN"},
		{dns.ReverseName(netip.MustParseAddr("fd00::7")), dns.PTR, "NOERROR: " + dns.ReverseName(netip.MustParseAddr("fd00::7")) + ". PTR web.shop.svc.cluster.local."},
		{"10-244-0-5.shop.pod.cluster.local", dns.A, "NOERROR: 10-244-0-5.shop.pod.cluster.local. A 10.244.0.5"},
		{"fd00--5.shop.pod.cluster.local", dns.AAAA, "NOERROR: fd00--5.shop.pod.cluster.local. AAAA fd00::5"},
		{"x.shop.pod.cluster.local", dns.A, "NXDOMAIN"},
		{"dns-version.cluster.local", dns.TXT, `NOERROR: dns-version.cluster.local. TXT "1.1.0"`},
		{"example.com", dns.A, "OUTSIDE"},
		{"db", dns.A, "NXDOMAIN"},
		{"db.production", dns.A, "NXDOMAIN"},
		{"a..b", dns.A, "NXDOMAIN"},
		{strings.Repeat("a.", 200), dns.A, "NXDOMAIN"},
	} {
		if got := text(z.Query(c.name, c.of)); got != c.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.name, c.of, got, c.want)
		}
	}
}

func text(a dns.Answer) string {
	var records []string
	for _, r := range a.Records {
		records = append(records, r.String())
	}
	if len(records) == 0 {
		return string(a.Code)
	}
	return string(a.Code) + ": " + strings.Join(records, "; ")
}

func TestResolvConf(t *testing.T) {
	host := dns.Config{Nameservers: []string{"192.0.2.53"}, Searches: []string{"lan"}}
	const inCluster = "search shop.svc.cluster.local svc.cluster.local cluster.local lan\nnameserver 10.96.0.10\noptions ndots:5\n"
	for _, c := range []struct{ name, spec, want string }{
		{"default", "{}", inCluster},
		{"ClusterFirst", "{dnsPolicy: ClusterFirst}", inCluster},
		{"Default", "{dnsPolicy: Default}", "search lan\nnameserver 192.0.2.53\n"},
		{"a pod of the host network", "{hostNetwork: true, dnsPolicy: ClusterFirst}", "search lan\nnameserver 192.0.2.53\n"},
		{"ClusterFirstWithHostNet", "{hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}", inCluster},
		{"None", "{dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.1], searches: [a.example], options: [{name: ndots, value: '2'}, {name: edns0}]}}", "search a.example\nnameserver 192.0.2.1\noptions ndots:2 edns0\n"},
		{"merged", "{dnsConfig: {nameservers: [10.96.0.10, 192.0.2.1], searches: [lan, b], options: [{name: ndots, value: '1'}]}}", "search shop.svc.cluster.local svc.cluster.local cluster.local lan b\nnameserver 10.96.0.10\nnameserver 192.0.2.1\noptions ndots:1\n"},
	} {
		pod := &corev1.Pod{}
		pod.Namespace = "shop"
		if err := yaml.Unmarshal([]byte(c.spec), &pod.Spec); err != nil {
			t.Fatal(err)
		}
		config := dns.ConfigOf(pod, "10.96.0.10", "", host)
		if got := config.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if again := dns.ParseConfig(config.String()); again.String() != config.String() {
			t.Errorf("%s: read again, it is %q", c.name, again.String())
		}
	}
}

func TestSearchAsksInOrder(t *testing.T) {
	z := zone(t)
	pod := &corev1.Pod{}
	pod.Namespace = "shop"
	c := dns.ConfigOf(pod, "10.96.0.10", "", dns.Config{})
	for _, k := range []struct {
		name, options, want string
		asked               int
	}{
		{"web", "", "web.shop.svc.cluster.local NOERROR [10.96.0.7 fd00::7]", 1},
		{"kubernetes.default", "", "kubernetes.default.svc.cluster.local NOERROR [10.96.0.1]", 2},
		{"kubernetes.default.svc.cluster.local", "", "kubernetes.default.svc.cluster.local NOERROR [10.96.0.1]", 4},
		{"kubernetes.default.svc.cluster.local", "ndots:4", "kubernetes.default.svc.cluster.local NOERROR [10.96.0.1]", 1},
		{"kubernetes.default.svc.cluster.local.", "", "kubernetes.default.svc.cluster.local NOERROR [10.96.0.1]", 1},
		{"nosuch", "", "nosuch NXDOMAIN []", 4},
		{"example.com", "", "example.com OUTSIDE []", 4},
		{"out", "", "out.shop.svc.cluster.local OUTSIDE []", 1},
		{"db-0.db", "", "db-0.db.shop.svc.cluster.local NOERROR [10.244.0.5 fd00::5]", 1},
	} {
		own := c
		if k.options != "" {
			own.Options = append(slices.Clone(c.Options), k.options)
		}
		r := z.Resolve(&own, k.name)
		var found []string
		for _, a := range r.Addresses {
			found = append(found, a.String())
		}
		if got := r.Name + " " + string(r.Code) + " [" + strings.Join(found, " ") + "]"; got != k.want || len(r.Asked) != k.asked {
			t.Errorf("%s (%s): got %s after %v, want %s after %d", k.name, k.options, got, r.Asked, k.want, k.asked)
		}
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("web.shop.svc.cluster.local", "A")
	f.Add("_a._b.db.shop.svc.cluster.local", "SRV")
	f.Add("1.0.0.ip6.arpa", "PTR")
	z := zone(f)
	f.Fuzz(func(t *testing.T, name, of string) {
		if a := z.Query(name, dns.Type(of)); a.Code == dns.NXDomain && len(a.Records) > 8 {
			t.Error(a)
		}
	})
}
