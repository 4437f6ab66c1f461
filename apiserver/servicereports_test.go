package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/serviceip"
)

// A Service that has lost its address is reported by an event, and by the series of the
// same event when it happens again.
func TestRepairIsReported(t *testing.T) {
	h, virtual := startVirtual(t)
	client := h.client()
	service := must(client.CoreV1().Services("default").Create(h.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.77", Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	for count := range int32(3) {
		if err := client.NetworkingV1().IPAddresses().Delete(h.ctx, service.Spec.ClusterIP, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.advance(virtual, serviceip.RepairInterval)
		list := must(client.EventsV1().Events("default").List(h.ctx, metav1.ListOptions{}))(t)
		if len(list.Items) != 1 {
			t.Fatalf("there are %d events", len(list.Items))
		}
		event := list.Items[0]
		if event.Reason != "ClusterIPNotAllocated" || event.Note != "Cluster IP [IPv4]: 10.96.0.77 is not allocated; repairing" || event.Type != corev1.EventTypeWarning ||
			event.Regarding.Name != "web" || event.Regarding.Kind != "Service" || event.ReportingController != "ipallocator-repair-controller" || event.Action != "ClusterIPAllocation" {
			t.Errorf("the event is %+v", event)
		}
		if count > 0 && (event.Series == nil || event.Series.Count != count+1) {
			t.Errorf("the series is %+v after %d", event.Series, count+1)
		}
	}
}
