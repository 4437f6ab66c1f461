package controllers_test

import (
	"slices"
	"testing"

	"minikcm.dev/minikcm/controllers"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	in := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	for name, test := range map[string]struct {
		wrote, touched func(string) bool
		idle, working  []string
	}{
		"nothing":       {in(), in(), []string{"deployment-controller", "namespace-controller", "resourcequota-controller"}, []string{"garbage-collector-controller"}},
		"pods":          {in(), in("pods"), []string{"token-cleaner-controller"}, []string{"replicaset-controller", "pod-garbage-collector-controller"}},
		"wrote":         {in("serviceaccount-controller"), in(), []string{"deployment-controller"}, []string{"serviceaccount-controller"}},
		"roles at rest": {in("clusterrole-aggregation-controller"), in("configmaps"), []string{"clusterrole-aggregation-controller"}, nil},
		"a binding":     {in("clusterrole-aggregation-controller"), in("rolebindings"), nil, []string{"clusterrole-aggregation-controller"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := controllers.Idle(test.wrote, test.touched)
			for _, c := range test.idle {
				if !slices.Contains(got, c) {
					t.Errorf("%s is not idle", c)
				}
			}
			for _, c := range test.working {
				if slices.Contains(got, c) {
					t.Errorf("%s is idle", c)
				}
			}
		})
	}
}
