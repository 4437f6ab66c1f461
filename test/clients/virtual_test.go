package clients

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
	"minikcm.dev/minikcm/test/clients/website"
)

// TestOperatorOnVirtualTime runs the operator in memory with the controller-runtime of this
// module, which is the latest release. minikcm's own tests use the oldest supported one.
func TestOperatorOnVirtualTime(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, website.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	if _, err := envtest.InstallCRDs(c.Config(), envtest.CRDInstallOptions{Paths: []string{"testdata/crds"}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	mgr := ctrltest.NewManager(t, c, ctrl.Options{Scheme: scheme, LeaderElection: true, LeaderElectionID: "websites.clients.example.com"})
	if err := (&website.Reconciler{Identity: "test"}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	k := mgr.GetClient()
	advance := func(d time.Duration) {
		t.Helper()
		if err := c.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	home := &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"}, Spec: website.WebsiteSpec{Image: "nginx", Replicas: 2}}
	if err := k.Create(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	advance(time.Minute)
	key := client.ObjectKeyFromObject(home)
	if err := k.Get(t.Context(), key, home); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(home.Status.Conditions, "Ready"); ready == nil || ready.Status != metav1.ConditionTrue || home.Status.ReadyReplicas != 2 {
		t.Errorf("after a minute: %+v", home.Status)
	}
	c.EventuallyEvent("default", "Website", "Normal Deployed 2 of 2 ready")
	if err := k.Delete(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	advance(time.Minute)
	if err := k.Get(t.Context(), key, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment of a Website that is gone: %v", err)
	}
	record := &corev1.ConfigMap{}
	if err := k.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "was-home"}, record); err != nil || record.Data["by"] != "test" {
		t.Errorf("the finalizer's record: %v, %v", record.Data, err)
	}
}
