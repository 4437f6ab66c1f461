package policy_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the recording")

const recording = "../../../apiserver/rbac/policy/testdata/upstream.yaml"

// objects has the objects by kind and by namespace/name.
type objects struct {
	ClusterRoles        map[string]rbacv1.ClusterRole        `json:"clusterRoles"`
	ClusterRoleBindings map[string]rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
	Roles               map[string]rbacv1.Role               `json:"roles"`
	RoleBindings        map[string]rbacv1.RoleBinding        `json:"roleBindings"`
}

// TestRecording compares the recording with upstream's objects.
func TestRecording(t *testing.T) {
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
	data, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(recording, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, data) {
		t.Errorf("%s differs from upstream's objects (-update rewrites it)", recording)
	}
}
