package policy_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericfeatures "k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the recording")

const recordings = "../../../apiserver/internal/rbac/policy/testdata/"

// objects has the objects by kind and by namespace/name.
type objects struct {
	ClusterRoles        map[string]rbacv1.ClusterRole        `json:"clusterRoles"`
	ClusterRoleBindings map[string]rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
	Roles               map[string]rbacv1.Role               `json:"roles"`
	RoleBindings        map[string]rbacv1.RoleBinding        `json:"roleBindings"`
}

// TestRecording compares the recordings with upstream's objects: with the default feature gates, and those that
// differ with a gate that adds some.
func TestRecording(t *testing.T) {
	byDefault := upstreamObjects()
	settle(t, "upstream.yaml", byDefault)
	for _, gate := range []featuregate.Feature{features.GenericWorkload, features.DRAResourcePoolStatus, genericfeatures.StorageVersionAPI} {
		t.Run(string(gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, feature.DefaultFeatureGate, gate, true)
			settle(t, strings.ToLower(string(gate))+".yaml", differing(byDefault, upstreamObjects()))
		})
	}
}

// differing returns the roles and bindings that a gate adds or changes.
func differing(byDefault, gated objects) objects {
	same := func(name string, role rbacv1.ClusterRole) bool {
		return equality.Semantic.DeepEqual(byDefault.ClusterRoles[name], role)
	}
	maps.DeleteFunc(gated.ClusterRoles, same)
	maps.DeleteFunc(gated.ClusterRoleBindings, func(name string, _ rbacv1.ClusterRoleBinding) bool {
		_, known := byDefault.ClusterRoleBindings[name]
		return known
	})
	return objects{ClusterRoles: gated.ClusterRoles, ClusterRoleBindings: gated.ClusterRoleBindings}
}

func upstreamObjects() objects {
	all := objects{map[string]rbacv1.ClusterRole{}, map[string]rbacv1.ClusterRoleBinding{}, map[string]rbacv1.Role{}, map[string]rbacv1.RoleBinding{}}
	for _, r := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		all.ClusterRoles[r.Name] = r
	}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		all.ClusterRoleBindings[b.Name] = b
	}
	name := func(m metav1.ObjectMeta) string { return m.Namespace + "/" + m.Name }
	for _, list := range bootstrappolicy.NamespaceRoles() {
		for _, r := range list {
			all.Roles[name(r.ObjectMeta)] = r
		}
	}
	for _, list := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range list {
			all.RoleBindings[name(b.ObjectMeta)] = b
		}
	}
	return all
}

// settle compares a recording with upstream's objects or, with -update, writes it.
func settle(t *testing.T, file string, all objects) {
	t.Helper()
	data, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(recordings+file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(recordings + file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, data) {
		t.Errorf("%s differs from upstream's objects (-update rewrites it)", file)
	}
}
