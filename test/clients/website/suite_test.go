package website_test

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"minikcm.dev/minikcm/test/clients/website"
)

// TestWebsite is a test as kubebuilder generates it for an operator: envtest with the programs
// in KUBEBUILDER_ASSETS or the cluster of KUBECONFIG, and the manager in the test's process.
// The operator waits for Deployments, which need controllers and a node.
//
//	USE_EXISTING_CLUSTER=true minikcm exec -- go test ./website
//	eval "$(minikcm envtest)"; MINIKCM_CONTROLLERS='*' MINIKCM_NODES=1 go test ./website
func TestWebsite(t *testing.T) {
	if os.Getenv("USE_EXISTING_CLUSTER") != "true" && os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("neither USE_EXISTING_CLUSTER nor KUBEBUILDER_ASSETS is set")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, website.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../testdata/crds"}, ErrorIfCRDPathMissing: true}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&website.Reconciler{Identity: "suite"}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()

	k := mgr.GetClient()
	home := &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"}, Spec: website.WebsiteSpec{Image: "nginx", Replicas: 2}}
	if err := k.Create(ctx, home); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(home), home)
		return meta.IsStatusConditionTrue(home.Status.Conditions, "Ready"), err
	})
	if err != nil {
		t.Errorf("waiting for the Website: %v; its status is %+v", err, home.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := env.Stop(); err != nil {
		t.Error(err)
	}
}
