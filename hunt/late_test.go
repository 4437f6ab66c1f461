package hunt_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// Events are late, and lists are not: an informer that a reconcile starts meanwhile gets its list.
func TestLateEventsOfLaterInformer(t *testing.T) {
	t.Parallel()
	looking := hunt.Operator{Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error {
		mgr := ctrltest.NewManager(t, cluster, ctrl.Options{})
		k := mgr.GetClient()
		if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			s := &corev1.ConfigMap{}
			if err := k.Get(ctx, req.NamespacedName, s); err != nil || s.Labels["kind"] != "shop" || s.Data["seen"] != "" {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			s.Data["seen"] = "yes"
			if err := k.Update(ctx, s); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, client.IgnoreNotFound(k.Get(ctx, req.NamespacedName, &corev1.Secret{}))
		})); err != nil {
			t.Fatal(err)
		}
		return ctrltest.Start(t, mgr)
	}}
	hunt.Replay(t, looking, hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1))}},
		[]string{"late events of secrets from update configmaps default/corner"}, hunt.WithCluster(minikcmtest.WithNodes(0)))
}
