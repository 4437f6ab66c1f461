package minikcm_test

import (
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// Of two definitions with one kind, only one gets the name, through whichever processes they are created:
// one that does not know yet what another has stored, and two at the same time.
func TestOneKindInTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faulty.Fault{
		"a cache is behind": {Operations: faulty.Watches, Prefix: "/registry/apiextensions.k8s.io/", HoldWatches: true},
		"at the same time":  {Operations: faulty.Writes, Prefix: "/registry/apiextensions.k8s.io/", Latency: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}}
			options := minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: etcd}, API: minikcm.APIOptions{NoHTTPS: true}, Faults: minikcm.FaultOptions{Store: true}, Nodes: minikcm.NodeOptions{Count: -1}, Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true}}
			clusters := []*minikcm.Cluster{start(t, options), start(t, options)}
			defer clusters[0].StoreFaults().Inject(fault)()
			var wg sync.WaitGroup
			for i, plural := range []string{"things", "objects"} {
				create := func() {
					definitions := apiextensions.NewForConfigOrDie(clusters[1-i].Config()).ApiextensionsV1().CustomResourceDefinitions()
					if _, err := definitions.Create(t.Context(), thingDefinition(plural), metav1.CreateOptions{}); err != nil {
						t.Errorf("creating %s: %v", plural, err)
					}
				}
				if fault.HoldWatches {
					create()
				} else {
					wg.Go(create)
				}
			}
			wg.Wait()
			definitions, err := apiextensions.NewForConfigOrDie(clusters[1].Config()).ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			accepted := map[apiextensionsv1.ConditionStatus]int{}
			for _, d := range definitions.Items {
				for _, c := range d.Status.Conditions {
					if c.Type == apiextensionsv1.NamesAccepted {
						accepted[c.Status]++
					}
				}
			}
			if accepted[apiextensionsv1.ConditionTrue] != 1 || accepted[apiextensionsv1.ConditionFalse] != 1 {
				t.Errorf("NamesAccepted: %v", accepted)
			}
		})
	}
}

// thingDefinition defines the kind Thing.
func thingDefinition(plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}
