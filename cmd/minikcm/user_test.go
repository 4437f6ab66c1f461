package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A user who has been added may do what the roles of the groups allow.
func TestUserAdd(t *testing.T) {
	p, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "0")
	file := filepath.Join(t.TempDir(), "jane.kubeconfig")
	if code, out, stderr := call("user", "add", "jane", "--group", "dev", "-o", file, "--kubeconfig", kubeconfig); code != 0 || out != "user/jane added\nexport KUBECONFIG="+file+"\n" {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	jane := clientOf(t, file).CoreV1().ConfigMaps("default")
	if _, err := jane.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "jane" cannot list`) {
		t.Errorf("without a role: %v", err)
	}
	if _, err := clientOf(t, kubeconfig).RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dev"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "dev"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := jane.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("with a role: %v", err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"jane", "-o", file}, 2, "exists: choose another file"},
		{[]string{"root", "--group", "system:masters", "-o", "-"}, 1, "system:masters group is not allowed"},
		{[]string{""}, 2, "the name of the user is empty"},
	} {
		code, _, stderr := call(append([]string{"user", "add", "--kubeconfig", kubeconfig}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s", test.args, code, stderr)
		}
	}
	p.stop()
}
