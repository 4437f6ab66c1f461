package controller

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
	webv1 "minikcm.dev/minikcm/test/hunt/project/api/v1"
)

// TestSite disturbs the operator at each of its writes.
func TestSite(t *testing.T) {
	ctrl.SetLogger(logr.Discard()) // reconciles fail in many of the runs
	hunt.Run(t, hunt.Operator{
		CRDs: []string{"../../config/crd/bases"},
		Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error {
			mgr := ctrltest.NewManager(t, cluster, ctrl.Options{Scheme: newScheme(t)})
			if err := (&SiteReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr); err != nil {
				t.Fatal(err)
			}
			return ctrltest.Start(t, mgr)
		},
	}, hunt.ScenarioFile(t, "testdata/site.yaml"), hunt.WithTrials(40), hunt.WithTests())
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, webv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}
