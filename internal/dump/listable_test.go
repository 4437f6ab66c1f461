package dump

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Views of other objects have no revisions of the store: a list of them at one would not end.
func TestListable(t *testing.T) {
	list := metav1.Verbs{"get", "list"}
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "nodes", Kind: "Node", Verbs: list}, {Name: "bindings", Kind: "Binding"}, {Name: "events", Kind: "Event", Verbs: list}}},
		{GroupVersion: "simulation.minikcm.dev/v1alpha1", APIResources: []metav1.APIResource{{Name: "nodepools", Kind: "NodePool", Verbs: list}, {Name: "clocks", Kind: "Clock", Verbs: list}}},
	}
	if all := listable(served); len(all) != 1 || all[0].kind != "Node" {
		t.Errorf("listed are %v, want Nodes only", all)
	}
}
