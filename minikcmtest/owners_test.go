package minikcmtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// Managed fields and events name the programs of a real cluster, such as
// kube-controller-manager, as managers and sources.
func TestOwnersAreUpstreamsPrograms(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	if _, err := c.Client().AppsV1().Deployments(metav1.NamespaceDefault).Create(t.Context(), deploymentOf("web", 1), metav1.CreateOptions{FieldManager: "me"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	note := func(what string, m *metav1.ObjectMeta) {
		for _, entry := range m.ManagedFields {
			if owner := entry.Manager + " " + entry.Subresource; !slices.Contains(got[what], owner) {
				got[what] = append(got[what], owner)
			}
		}
		slices.Sort(got[what])
	}
	core, all := c.Client().CoreV1(), metav1.ListOptions{}
	events, err := core.Events(metav1.NamespaceDefault).List(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		note("events of "+events.Items[i].Source.Component, &events.Items[i].ObjectMeta)
	}
	pods, err := core.Pods(metav1.NamespaceDefault).List(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	note("pods", &pods.Items[0].ObjectMeta)
	deployments, err := c.Client().AppsV1().Deployments(metav1.NamespaceDefault).List(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	note("deployments", &deployments.Items[0].ObjectMeta)
	want := map[string][]string{
		"events of default-scheduler":     {"kube-scheduler "},
		"events of deployment-controller": {"kube-controller-manager "},
		"events of kubelet":               {"kubelet "},
		"events of node-controller":       {"kube-controller-manager "},
		"events of replicaset-controller": {"kube-controller-manager "},
		"pods":                            {"kube-controller-manager ", "kubelet status"},
		"deployments":                     {"kube-controller-manager status", "me "},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}
