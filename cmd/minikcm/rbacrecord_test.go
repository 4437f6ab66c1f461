package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
)

// rbac record prints the roles that a command needs, and compares them with the roles of its
// service account. Afterwards the account may do only what its roles allow.
func TestRBACRecord(t *testing.T) {
	p, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "0")
	client := clientOf(t, kubeconfig)
	if _, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ctrl"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "ctrl"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "ctrl"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ctrl"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "ctrl"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Setenv(asCommand, "run")
	t.Setenv("SELF", self(t))
	const script = `"$SELF" kubectl get pods -A -o name; "$SELF" kubectl get deployments -o name
		"$SELF" kubectl create configmap one; "$SELF" kubectl get configmap one -o name
		"$SELF" kubectl auth can-i delete nodes
		"$SELF" kubectl create role reader --verb=get --resource=secrets -n kube-public; exit 3`
	record := func(flags ...string) (int, string, string) {
		return call(append(append([]string{"rbac", "record", "--kubeconfig", kubeconfig}, flags...), "--", "sh", "-c", script)...)
	}
	code, out, stderr := record("--serviceaccount", "default/ctrl")
	if code != 3 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	golden.Compare(t, "testdata/rbac-record.golden", out)
	if !strings.Contains(stderr, "role.rbac.authorization.k8s.io/reader created") {
		t.Errorf("the command was not allowed everything: %s", stderr)
	}
	_, out, stderr = record("--serviceaccount", "default/ctrl", "--enforce", "--resource-names")
	if !strings.Contains(stderr, `User "system:serviceaccount:default:ctrl" cannot`) || !strings.Contains(out, "resourceNames:\n  - one") {
		t.Errorf("with --enforce: %s%s", stderr, out)
	}
	manifests := t.TempDir()
	if err := os.WriteFile(filepath.Join(manifests, "role.yaml"), []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: own}\nrules: [{apiGroups: [''], resources: [services], verbs: [get]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(manifests, "kustomization.yaml"), []byte("resources: [role.yaml]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, stderr := record("-f", manifests); !strings.Contains(out, "#   ClusterRole own:\n#     get services\n") || !strings.Contains(out, "#   list pods\n") {
		t.Errorf("with manifests: %s%s", stderr, out)
	}
	for _, test := range []struct {
		flags []string
		code  int
		want  string
	}{
		{[]string{"--serviceaccount", "ctrl"}, 2, "must be NAMESPACE/NAME"},
		{[]string{"--serviceaccount", "default/nobody"}, 1, `serviceaccounts "nobody" not found`},
		{[]string{"-f", "does-not-exist"}, 2, "does not exist"},
	} {
		if code, _, stderr := record(test.flags...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s", test.flags, code, stderr)
		}
	}
	p.stop()
}

// Only administrators may record, since the recorded user may do everything.
func TestRBACRecordNeedsAdministrator(t *testing.T) {
	p, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "0")
	file := filepath.Join(t.TempDir(), "jane.kubeconfig")
	if code, _, stderr := call("user", "add", "jane", "--group", "dev", "-o", file, "--kubeconfig", kubeconfig); code != 0 {
		t.Fatal(stderr)
	}
	err := clientOf(t, file).Discovery().RESTClient().Post().AbsPath("/minikcm/v1/access").Param("user", "jane").Do(t.Context()).Error()
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without roles: %v", err)
	}
	p.stop()
}
