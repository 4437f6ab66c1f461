package apiserver_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwnObjectsAreOwned checks that the objects that the server creates at start have
// upstream's field managers.
func TestOwnObjectsAreOwned(t *testing.T) {
	h := start(t)
	client := h.client()
	const own = "kube-apiserver"
	check := func(what string, m metav1.Object, manager string) {
		t.Helper()
		entries := m.GetManagedFields()
		if len(entries) != 1 || entries[0].Manager != manager || entries[0].Operation != metav1.ManagedFieldsOperationUpdate {
			t.Errorf("%s: %+v", what, entries)
		}
	}
	check("namespace", must(client.CoreV1().Namespaces().Get(h.ctx, "kube-system", metav1.GetOptions{}))(t), own)
	check("service", must(client.CoreV1().Services("default").Get(h.ctx, "kubernetes", metav1.GetOptions{}))(t), own)
	check("priority class", must(client.SchedulingV1().PriorityClasses().Get(h.ctx, "system-node-critical", metav1.GetOptions{}))(t), own)
	check("flow schema", must(client.FlowcontrolV1().FlowSchemas().Get(h.ctx, "exempt", metav1.GetOptions{}))(t), "api-priority-and-fairness-config-producer-v1")

	h.https()
	check("endpoints", must(client.CoreV1().Endpoints("default").Get(h.ctx, "kubernetes", metav1.GetOptions{}))(t), own)
	check("endpoint slice", must(client.DiscoveryV1().EndpointSlices("default").Get(h.ctx, "kubernetes", metav1.GetOptions{}))(t), own)
	cidr := must(client.NetworkingV1().ServiceCIDRs().Get(h.ctx, "kubernetes", metav1.GetOptions{}))(t)
	if entries := cidr.ManagedFields; len(entries) != 2 || entries[0].Manager != own || entries[1].Manager != "kubernetes-service-cidr-controller" || entries[1].Subresource != "status" {
		t.Errorf("service CIDR: %+v", entries)
	}
}
