package reach_test

import (
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
)

const (
	apiService = "kind: Service\nmetadata: {namespace: default, name: kubernetes}\nspec: {clusterIP: 10.96.0.1, ports: [{name: https, port: 443}]}"
	apiSlice   = "kind: EndpointSlice\nmetadata: {namespace: default, name: kubernetes, labels: {kubernetes.io/service-name: kubernetes}}\naddressType: IPv4\nports: [{name: https, port: 6443}]\nendpoints: [{addresses: [ADDRESS]}]"
	apiDenied  = "kind: NetworkPolicy\nmetadata: {namespace: shop, name: all}\nspec: {podSelector: {}, policyTypes: [Ingress, Egress]}"
	apiAllowed = "kind: NetworkPolicy\nmetadata: {namespace: shop, name: api}\nspec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 192.0.2.1/32}}]}]}"
)

// The API server is one of the ends: at the address in its EndpointSlice, at one of a node, or, without a socket, at one of its own.
func TestAPIServer(t *testing.T) {
	for _, test := range []struct {
		name, address, from, to string
		policies                []string
		fault                   string
		want                    string
	}{
		{"by its Service", "203.0.113.9", "web-1", "10.96.0.1:443", nil, "", "yes: "},
		{"by its endpoint", "203.0.113.9", "web-1", "203.0.113.9:6443", nil, "", "it is the API server"},
		{"another port", "203.0.113.9", "web-1", "203.0.113.9:22", nil, "", "unknown: "},
		{"on a node", "172.18.0.2", "web-1", "10.96.0.1:443", nil, "", "it is the API server"},
		{"another port of the node", "172.18.0.2", "web-1", "172.18.0.2:22", nil, "", "nothing listens on TCP 22 of node n0"},
		{"without a socket", "", "web-1", "10.96.0.1:443", nil, "", "it is the API server"},
		{"asked about", "203.0.113.9", "web-1", "apiserver", nil, "", "yes: pod shop/web-1 reaches the API server"},
		{"denied", "", "web-1", "10.96.0.1:443", []string{apiDenied}, "", "NetworkPolicies deny the egress"},
		{"allowed by its address", "", "web-1", "10.96.0.1:443", []string{apiDenied, apiAllowed}, "", "allowed by NetworkPolicy shop/api, rule egress[0]"},
		{"calls a pod", "", "apiserver", "svc/web:80", []string{apiDenied}, "", "policies do not meet calls of the API server"},
		{"calls itself", "", "apiserver", "10.96.0.1:443", nil, "", "yes: "},
		{"cut off", "", "web-1", "10.96.0.1:443", nil, "apiserver", "loses the packets"},
		{"cut off from pods", "", "apiserver", "svc/web:80", nil, "apiserver", "loses the packets"},
		{"no part of the outside", "", "web-1", "10.96.0.1:443", nil, "outside", "yes: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, "testdata/cluster.yaml")
			c.Services.DeleteService(podKey("default", "kubernetes"))
			add(t, c, apiService)
			if test.address != "" {
				add(t, c, strings.ReplaceAll(apiSlice, "ADDRESS", test.address))
			}
			for _, p := range test.policies {
				add(t, c, p)
			}
			set := &faults.Set{}
			if test.fault != "" {
				end, err := ends.Parse("shop", test.fault)
				if err != nil {
					t.Fatal(err)
				}
				set.Add(&faults.Rule{Title: "cut", From: ends.Set{end}, Percent: 100, Partition: true})
			}
			report, err := c.Answer(&reach.Ask{Namespace: "shop", From: test.from, To: test.to}, func(q *reach.Query) { q.Listens, q.Faults = listens, set })
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Text(); !strings.Contains(got, test.want) {
				t.Errorf("%s\nwant %q", got, test.want)
			}
		})
	}
	if p := load(t, "testdata/cluster.yaml").Decide(&reach.Query{From: policy.Peer{}, Host: "192.0.2.1", Port: 6443, Listens: listens}); p.APIServer {
		t.Error("a cluster without the Service has an API server")
	}
}
