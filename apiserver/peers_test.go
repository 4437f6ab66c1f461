package apiserver_test

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/store"
)

// TestEndpointsOfServers has a server on a shared store, and a second one that is only a
// Lease: the endpoints of the Service kubernetes list both, until the Lease is deleted.
func TestEndpointsOfServers(t *testing.T) {
	h := start(t, sharing)
	h.https()
	leases := h.client().CoordinationV1().Leases(members.Namespace)
	endpoints := h.client().CoreV1().Endpoints("default")
	const port = 7001
	await := func(what string, subsets, slices int) {
		t.Helper()
		w, err := endpoints.Watch(h.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for event := range w.ResultChan() {
			e, ok := event.Object.(*corev1.Endpoints)
			if !ok || e.Name != "kubernetes" || len(e.Subsets) != subsets {
				continue
			}
			// The slices are written after the Endpoints, also by the round before this one.
			for h.ctx.Err() == nil {
				found := must(h.client().DiscoveryV1().EndpointSlices("default").List(h.ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubernetes"}))(t)
				if len(found.Items) == slices {
					return
				}
			}
		}
		t.Fatalf("%s: the endpoints are not as expected", what)
	}
	await("alone", 1, 1)
	must(leases.Create(h.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: members.Name("other"), Labels: map[string]string{members.IdentityLabel: members.IdentityValue},
		Annotations: map[string]string{members.AddressAnnotation: fmt.Sprintf("10.0.0.7:%d", port)},
	}}, metav1.CreateOptions{}))(t)
	await("with another", 2, 2)
	if err := leases.Delete(h.ctx, members.Name("other"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await("alone again", 1, 1)
}

// TestEventsOfPausedServer has a server that writes an Event and does not live to see it expire:
// its clock stands still. The other server deletes the Event.
func TestEventsOfPausedServer(t *testing.T) {
	memory := store.NewMemory()
	survivor, virtual := startVirtual(t, sharing, func(o *apiserver.Options) { o.Store = memory })
	paused, _ := startVirtual(t, sharing, func(o *apiserver.Options) { o.Store = uncloseable{memory} })
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
	must(paused.client().CoreV1().Events("default").Create(paused.ctx, event, metav1.CreateOptions{}))(t)
	events := survivor.client().CoreV1().Events("default")
	count := func() int { return len(must(events.List(survivor.ctx, metav1.ListOptions{}))(t).Items) }
	survivor.advance(virtual, 59*time.Minute)
	if count() != 1 {
		t.Error("the event is deleted early")
	}
	survivor.advance(virtual, 12*time.Minute)
	if count() != 0 {
		t.Error("the event outlives the server that wrote it")
	}
}
