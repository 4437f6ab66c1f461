package requests

import (
	"encoding/json"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document is a discovery document with two resources.
func document(t *testing.T) []byte {
	t.Helper()
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	list := apidiscovery.APIGroupDiscoveryList{Items: []apidiscovery.APIGroupDiscovery{{
		Versions: []apidiscovery.APIVersionDiscovery{{Version: "v1", Resources: []apidiscovery.APIResourceDiscovery{
			{
				Resource: "pods", ResponseKind: &metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Scope: apidiscovery.ScopeNamespace, Verbs: verbs,
				Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "status", Verbs: []string{"get", "patch", "update"}}},
			},
			{Resource: "nodes", ResponseKind: &metav1.GroupVersionKind{Version: "v1", Kind: "Node"}, Scope: apidiscovery.ScopeCluster, Verbs: verbs},
		}}},
	}}}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAll(t *testing.T) {
	kinds, err := Kinds([][]byte{document(t)}, "../../../apiserver/internal/resources/testdata")
	if err != nil {
		t.Fatal(err)
	}
	if len(kinds) != 2 || len(kinds[0].Manifests) == 0 || kinds[0].Status == nil || kinds[0].List() != "/api/v1/namespaces/wire/pods" || kinds[1].List() != "/api/v1/nodes" {
		t.Fatalf("kinds of the document: %+v", kinds)
	}
	seen := map[string]bool{}
	for _, c := range All(kinds, nil) {
		if seen[c.Name] {
			t.Errorf("two cases %s", c.Name)
		}
		seen[c.Name] = true
		requests := map[string]bool{}
		for _, r := range c.Requests {
			if requests[r.Name] {
				t.Errorf("%s has two requests %s", c.Name, r.Name)
			}
			if r.From != "" && !requests[r.From] {
				t.Errorf("%s/%s is about the answer to %s, which is none before it", c.Name, r.Name, r.From)
			}
			requests[r.Name] = true
		}
	}
}
