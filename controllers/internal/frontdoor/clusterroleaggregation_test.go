package controllers_test

import (
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestClusterRoleAggregation extends the role view with the rules of a new role, as the manifests of
// operators do, and takes them away again.
func TestClusterRoleAggregation(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(clusterroleaggregation.Name))
	roles := c.Client().RbacV1().ClusterRoles()
	added := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}
	has := func(name string, want bool) {
		t.Helper()
		if err := c.Advance(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		role, err := roles.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Equal(r.APIGroups, added.APIGroups) })
		if found != want || len(role.Rules) < 5 {
			t.Errorf("%s has the added rule: %v, of %d rules", name, found, len(role.Rules))
		}
	}
	has("view", false)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{added},
	}
	if _, err := roles.Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"view", "edit", "admin"} { // each gathers the one before
		has(name, true)
	}
	if err := roles.Delete(ctx, "widgets", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	has("view", false)
	has("admin", false)
}
