package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/endpointslicemirroring"
	"minikcm.dev/minikcm/controllers/internal/endpointslicemirroring/decide"
	"minikcm.dev/minikcm/minikcmtest"
)

// mirrors checks the contents of the slices of the service "web", in order.
func mirrors(want ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		var got []string
		for _, slice := range list.Items {
			if slice.Labels[discoveryv1.LabelManagedBy] != decide.ManagedBy || !strings.HasPrefix(slice.Name, "web-") {
				return fmt.Errorf("slice %s has labels %v", slice.Name, slice.Labels)
			}
			for _, e := range slice.Endpoints {
				got = append(got, e.Addresses...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("%d slices show %v, want %v", len(list.Items), got, want)
		}
		return nil
	}
}

func TestEndpointsAreMirrored(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime())
	services, endpoints := c.Client().CoreV1().Services("default"), c.Client().CoreV1().Endpoints("default")
	custom := func(ips ...string) *corev1.Endpoints {
		subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: 80}}}
		for _, ip := range ips {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
		return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Subsets: []corev1.EndpointSubset{subset}}
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(endpoints.Create(ctx, custom("10.1.2.3"), metav1.CreateOptions{}))
	must(services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))
	c.Eventually("the mirror of endpoints that were there first", mirrors("10.1.2.3"))
	must(endpoints.Update(ctx, custom("10.2.3.4", "fd00::1"), metav1.UpdateOptions{}))
	c.Eventually("the mirror to follow", mirrors("10.2.3.4", "fd00::1"))

	list, err := c.Client().DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
	must(list, err)
	must(nil, c.Client().DiscoveryV1().EndpointSlices("default").Delete(ctx, list.Items[0].Name, metav1.DeleteOptions{}))
	c.Eventually("a changed mirror to be restored", mirrors("10.2.3.4", "fd00::1"))

	skipped := custom("10.2.3.4")
	skipped.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"}
	must(endpoints.Update(ctx, skipped, metav1.UpdateOptions{}))
	c.Eventually("no mirror of endpoints that are skipped", mirrors())
	must(endpoints.Update(ctx, custom("10.2.3.5"), metav1.UpdateOptions{}))
	c.Eventually("a mirror again", mirrors("10.2.3.5"))
	must(nil, endpoints.Delete(ctx, "web", metav1.DeleteOptions{}))
	c.Eventually("no mirror of nothing", mirrors())

	must(endpoints.Create(ctx, custom("10.2.3.6"), metav1.CreateOptions{}))
	c.Eventually("a mirror once more", mirrors("10.2.3.6"))
	must(nil, services.Delete(ctx, "web", metav1.DeleteOptions{}))
	c.Eventually("no mirror without a service", mirrors())
}

// TestASelectorTakesTheMirrorAway adds a selector to a service: its slices then belong to
// the endpointslice-controller.
func TestASelectorTakesTheMirrorAway(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(endpointslicemirroring.Name))
	core := c.Client().CoreV1()
	service, err := core.Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.Endpoints("default").Create(ctx, &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.1.2.3"}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("a mirror", mirrors("10.1.2.3"))
	service.Spec.Selector = map[string]string{"app": "web"}
	if _, err := core.Services("default").Update(ctx, service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("no mirror", mirrors())
}
