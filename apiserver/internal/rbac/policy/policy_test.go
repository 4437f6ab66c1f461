package policy_test

import (
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
)

type objects struct {
	ClusterRoles        map[string]*rbacv1.ClusterRole
	ClusterRoleBindings map[string]*rbacv1.ClusterRoleBinding
	Roles               map[string]*rbacv1.Role
	RoleBindings        map[string]*rbacv1.RoleBinding
}

// TestUpstream compares the tables with the objects that test/conformance/policy has
// recorded of upstream, without and with feature gates that add roles.
func TestUpstream(t *testing.T) {
	want := recorded(t, "upstream.yaml")
	compare(t, want, policy.Gates{})
	for file, gates := range map[string]policy.Gates{
		"genericworkload.yaml": {GenericWorkload: true}, "draresourcepoolstatus.yaml": {DRAResourcePoolStatus: true},
		"storageversionapi.yaml": {StorageVersionAPI: true},
	} {
		gated := recorded(t, file) // those that differ
		all := objects{maps.Clone(want.ClusterRoles), maps.Clone(want.ClusterRoleBindings), want.Roles, want.RoleBindings}
		maps.Copy(all.ClusterRoles, gated.ClusterRoles)
		maps.Copy(all.ClusterRoleBindings, gated.ClusterRoleBindings)
		compare(t, all, gates)
	}
}

func recorded(t *testing.T, file string) objects {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all objects
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func compare(t *testing.T, want objects, gates policy.Gates) {
	t.Helper()
	ours := objects{byName(policy.ClusterRoles(gates)), byName(policy.ClusterRoleBindings(gates)), byName(policy.Roles()), byName(policy.RoleBindings())}
	if diff := cmp.Diff(want, ours, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%+v: %s", gates, diff)
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
