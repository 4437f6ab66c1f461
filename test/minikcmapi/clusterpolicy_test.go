package minikcmapi

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/minikcmtest"
)

const clusterPolicies = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusternetworkpolicies.policy.networking.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: policy.networking.k8s.io
  scope: Cluster
  names: {kind: ClusterNetworkPolicy, listKind: ClusterNetworkPolicyList, plural: clusternetworkpolicies, singular: clusternetworkpolicy}
  versions:
  - {name: v1alpha2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// ClusterNetworkPolicies have effect where their definition is installed.
func TestClusterNetworkPolicies(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{reachapi.Extension()}
		o.Nodes.Stages.Watch = true
	}))
	file := filepath.Join(t.TempDir(), "definition.yaml")
	if err := os.WriteFile(file, []byte(clusterPolicies), 0o600); err != nil {
		t.Fatal(err)
	}
	c.CreateCRDs(file)
	for _, name := range []string{"client", "web"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	dynamicClient, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	policies := dynamicClient.Resource(schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: "v1alpha2", Resource: "clusternetworkpolicies"})
	put := func(tier, action string) {
		t.Helper()
		everything := map[string]any{"namespaces": map[string]any{}}
		_, err := policies.Apply(t.Context(), "rule", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy.networking.k8s.io/v1alpha2", "kind": "ClusterNetworkPolicy", "metadata": map[string]any{"name": "rule"},
			"spec": map[string]any{
				"tier": tier, "priority": int64(1), "subject": everything,
				"ingress": []any{map[string]any{"action": action, "from": []any{everything}}},
			},
		}}, metav1.ApplyOptions{FieldManager: "test", Force: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	reaches := func(want bool, why string) {
		t.Helper()
		if err := c.Advance(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		got, err := reachapi.Get(t.Context(), c.Client().CoreV1().RESTClient(), &reach.Ask{From: "client", To: "pod/web"})
		if err != nil || got.Reached != want || got.Why != why {
			t.Errorf("reached is %+v, want %v: %v", got, want, err)
		}
	}
	reaches(true, "")
	put("Baseline", "Deny")
	reaches(false, "a ClusterNetworkPolicy denies the ingress")
	put("Admin", "Accept")
	reaches(true, "")
	put("Admin", "Deny")
	reaches(false, "a ClusterNetworkPolicy denies the ingress")
	put("Admin", "Shrug") // it has no effect but an event
	reaches(true, "")
	c.EventuallyEvent("default", "ClusterNetworkPolicy", "Warning InvalidClusterNetworkPolicy spec.ingress[0]: action: \"Shrug\" is none of Accept, Deny and Pass")
}
