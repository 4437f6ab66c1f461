package policy_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/rbac/policy"
)

// TestUpstream compares the tables with the objects that test/conformance/policy has
// recorded of upstream.
func TestUpstream(t *testing.T) {
	data, err := os.ReadFile("testdata/upstream.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type objects struct {
		ClusterRoles        map[string]*rbacv1.ClusterRole
		ClusterRoleBindings map[string]*rbacv1.ClusterRoleBinding
		Roles               map[string]*rbacv1.Role
		RoleBindings        map[string]*rbacv1.RoleBinding
	}
	var upstream objects
	if err := yaml.UnmarshalStrict(data, &upstream); err != nil {
		t.Fatal(err)
	}
	ours := objects{byName(policy.ClusterRoles()), byName(policy.ClusterRoleBindings()), byName(policy.Roles()), byName(policy.RoleBindings())}
	if diff := cmp.Diff(upstream, ours, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// byName returns objects by name, after the namespace if they have one.
func byName[T metav1.Object](list []T) map[string]T {
	all := map[string]T{}
	for _, o := range list {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		all[name] = o
	}
	return all
}
