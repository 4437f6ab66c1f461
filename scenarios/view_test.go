package scenarios

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/scenario/check"
)

// Checks follow built-in kinds in protobuf. They see the same objects as a client that reads JSON.
func TestViewIsJSON(t *testing.T) {
	t.Parallel()
	found, err := Find("pod-kill-storm", map[string]string{"KILLS": "3"})
	if err != nil {
		t.Fatal(err)
	}
	ran(t, found[0], Options{}, func(w *world) { viewsAreJSON(t, w) })
}

func viewsAreJSON(t *testing.T, w *world) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Version: "v1", Resource: "nodes"},
		{Version: "v1", Resource: "namespaces"},
		{Version: "v1", Resource: "events"},
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "serviceaccounts"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
		{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		t.Run(resource.Resource, func(t *testing.T) {
			list, err := w.dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) == 0 {
				t.Fatal("there is none")
			}
			var mu sync.Mutex
			view, err := w.follower.Follow(t.Context(), check.Query{Resource: resource}, &mu, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]any{}, map[string]any{}
			for i := range list.Items {
				want[list.Items[i].GetNamespace()+"/"+list.Items[i].GetName()] = list.Items[i].Object
			}
			mu.Lock()
			defer mu.Unlock()
			for _, o := range view.List() {
				got[o.GetNamespace()+"/"+o.GetName()] = o.Object
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
