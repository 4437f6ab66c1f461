package minikcmapi

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/minikcmtest"
)

// The answer of a running cluster follows its objects.
func TestReach(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{reachapi.Extension()}
	}))
	for _, name := range []string{"client", "web"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "app"}}
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	ask := func(from, to string) (*reach.Report, error) {
		return reachapi.Get(t.Context(), c.Client().CoreV1().RESTClient(), &reach.Ask{From: from, To: to})
	}
	if got, err := ask("client", "web"); err != nil || !got.Reached || got.Pod != "default/web" || got.Listener == nil || !got.Listener.Assumed {
		t.Errorf("without a policy: %+v, %v", got, err)
	}
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}
	if _, err := c.Client().NetworkingV1().NetworkPolicies("default").Create(t.Context(), deny, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	got, err := ask("client", "svc/web")
	if err != nil || got.Reached || got.Outcome != reach.TimedOut || len(got.Ingress.Denials) != 1 || got.Ingress.Denials[0].Policy.String() != "default/deny" {
		t.Errorf("with a policy: %+v, %v", got, err)
	}
	followReach(t, c)
	// The Status arrives as it was sent: by its kind, the command line knows that the cluster has this path.
	var status *apierrors.StatusError
	if _, err := ask("nosuch", "web"); !errors.As(err, &status) || !apierrors.IsNotFound(err) || status.ErrStatus.Details.Kind != reachapi.Feature || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("from a pod that is not there: %v", err)
	}
	if _, err := ask("pvc/x", "web"); !apierrors.IsBadRequest(err) {
		t.Errorf("from a claim: %v", err)
	}
}

// A stream has the answer again each time it is another one.
func followReach(t *testing.T, c *minikcmtest.Cluster) {
	t.Helper()
	news := make(chan struct{}, 100)
	var reading sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer reading.Wait()
	defer cancel()
	answer, err := reachapi.Follow(ctx, c.Client().CoreV1().RESTClient(), &reach.Ask{From: "client", To: "svc/late", Port: "80"}, reading.Go, func() { news <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	var missing *reach.NotFoundError
	if _, err := answer(); !errors.As(err, &missing) || missing.What != "service default/late" {
		t.Errorf("before the Service is there: %v", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "late"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-news:
	case <-t.Context().Done():
		t.Fatal("no news of the Service")
	}
	if got, err := answer(); err != nil || got.Outcome != reach.Refused {
		t.Errorf("without endpoints: %+v, %v", got, err)
	}
}
