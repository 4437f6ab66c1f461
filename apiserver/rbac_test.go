package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func rules(verb, group, resource string, names ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// create creates objects of RBAC as the administrator.
func (h *harness) createRules(objects ...any) {
	h.t.Helper()
	c := h.client().RbacV1()
	for _, object := range objects {
		var err error
		switch object := object.(type) {
		case *rbacv1.Role:
			_, err = c.Roles("default").Create(h.ctx, object, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = c.ClusterRoles().Create(h.ctx, object, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = c.RoleBindings("default").Create(h.ctx, object, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = c.ClusterRoleBindings().Create(h.ctx, object, metav1.CreateOptions{})
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// as returns a client of a user.
func (h *harness) as(user string, groups ...string) *kubernetes.Clientset {
	return h.client(h.server.Config(user, groups...))
}

// TestRBAC changes roles and bindings, and compares the next request with each.
func TestRBAC(t *testing.T) {
	h := start(t)
	user := h.as("jane", "dev").CoreV1()
	get := func(want string) {
		t.Helper()
		_, err := user.ConfigMaps("default").Get(h.ctx, "x", metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	const forbidden, found = `configmaps "x" is forbidden: User "jane" cannot get resource "configmaps" in API group "" in the namespace "default"`, `configmaps "x" not found`
	get(forbidden)
	h.createRules(&rbacv1.RoleBinding{ObjectMeta: named("b"), RoleRef: roleRef("Role", "r"), Subjects: []rbacv1.Subject{{Kind: "Group", Name: "dev"}}})
	get(forbidden + `: RBAC: role.rbac.authorization.k8s.io "r" not found`)
	h.createRules(&rbacv1.Role{ObjectMeta: named("r"), Rules: rules("get", "", "configmaps", "y")})
	get(forbidden)
	c := h.client().RbacV1()
	role := must(c.Roles("default").Get(h.ctx, "r", metav1.GetOptions{}))(t)
	role.Rules = rules("get", "", "configmaps", "x")
	must(c.Roles("default").Update(h.ctx, role, metav1.UpdateOptions{}))(t)
	get(found)
	if _, err := user.ConfigMaps("kube-system").Get(h.ctx, "x", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("in another namespace: %v", err)
	}
	if err := c.RoleBindings("default").Delete(h.ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	get(forbidden)
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("all"), Rules: rules("*", "*", "*")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("b"), RoleRef: roleRef("ClusterRole", "all"), Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}}},
	)
	get(found)
	review := must(h.client().AuthorizationV1().SubjectAccessReviews().Create(h.ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "jane", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Group: "apps", Resource: "deployments", Subresource: "scale"},
	}}, metav1.CreateOptions{}))(t)
	if !review.Status.Allowed || review.Status.Reason != `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "all" to User "jane"` {
		t.Errorf("review: %v", review.Status)
	}
}

// TestRBACSubjects has a rule of each form for each kind of subject.
func TestRBACSubjects(t *testing.T) {
	h := start(t)
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("scales"), Rules: append(rules("get", "apps", "*/scale"), rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics", "/minikcm/*"}})},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("scales"), RoleRef: roleRef("ClusterRole", "scales"), Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "default"}}},
		&rbacv1.Role{ObjectMeta: named("logs"), Rules: rules("get", "", "pods/log")},
		&rbacv1.RoleBinding{ObjectMeta: named("logs"), RoleRef: roleRef("Role", "logs"), Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "local"}}},
	)
	const account, local = "system:serviceaccount:default:default", "system:serviceaccount:default:local"
	for _, test := range []struct {
		user, path string
		allowed    bool
	}{
		{account, "/apis/apps/v1/namespaces/x/deployments/d/scale", true},
		{account, "/apis/apps/v1/namespaces/x/deployments/d", false},
		{account, "/api/v1/namespaces/x/replicationcontrollers/d/scale", false},
		{account, "/metrics", true},
		{account, "/minikcm/v1/writes", true},
		{account, "/metrics/slis", false},
		{account, "/apis", true}, // system:discovery
		{local, "/api/v1/namespaces/default/pods/p/log", true},
		{local, "/api/v1/namespaces/default/pods/p", false},
		{local, "/api/v1/namespaces/x/pods/p/log", false},
		{local, "/metrics", false},
	} {
		if r := h.raw(h.server.Config(test.user), http.MethodGet, test.path, ""); (r.code != http.StatusForbidden) != test.allowed {
			t.Errorf("%s %s: %d %s", test.user, test.path, r.code, r.body)
		}
	}
}

// TestRBACEscalation lets a user with some permissions grant those, and more.
func TestRBACEscalation(t *testing.T) {
	h := start(t)
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("author"), Rules: append(rules("*", rbacv1.GroupName, "roles"), append(rules("*", rbacv1.GroupName, "rolebindings"), rules("get", "", "pods")...)...)},
		&rbacv1.RoleBinding{ObjectMeta: named("author"), RoleRef: roleRef("ClusterRole", "author"), Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}}},
	)
	// The verb * of the rule for roles includes escalate and bind; a user without them is needed.
	must(h.client().RbacV1().ClusterRoles().Patch(h.ctx, "author", "application/json-patch+json", []byte(`[
		{"op":"replace","path":"/rules/0/verbs","value":["create","update","get"]},{"op":"replace","path":"/rules/1/verbs","value":["create","update"]}]`), metav1.PatchOptions{}))(t)
	c := h.as("jane").RbacV1()
	must(c.Roles("default").Create(h.ctx, &rbacv1.Role{ObjectMeta: named("small"), Rules: rules("get", "", "pods")}, metav1.CreateOptions{}))(t)
	more := append(rules("delete", "", "pods"), rules("get", "", "pods")...)
	more = append(more, rules("list", "", "pods")...)
	_, err := c.Roles("default").Create(h.ctx, &rbacv1.Role{ObjectMeta: named("large"), Rules: more}, metav1.CreateOptions{})
	want := `roles.rbac.authorization.k8s.io "large" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["delete" "list"]}`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	bind := func(kind, name string) error {
		_, err := c.RoleBindings("default").Create(h.ctx, &rbacv1.RoleBinding{ObjectMeta: named("to-" + name), RoleRef: roleRef(kind, name), Subjects: []rbacv1.Subject{{Kind: "User", Name: "joe"}}}, metav1.CreateOptions{})
		return err
	}
	if err := bind("Role", "small"); err != nil {
		t.Error(err)
	}
	if err := bind("ClusterRole", "cluster-admin"); err == nil || !strings.Contains(err.Error(), "is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"*\"]") {
		t.Error(err)
	}
	if err := bind("Role", "none"); err == nil || err.Error() != `roles.rbac.authorization.k8s.io "none" not found` {
		t.Error(err)
	}
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("binder"), Rules: rules("bind", rbacv1.GroupName, "clusterroles", "cluster-admin")},
		&rbacv1.RoleBinding{ObjectMeta: named("binder"), RoleRef: roleRef("Role", "binder"), Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}}},
	)
	if err := bind("ClusterRole", "cluster-admin"); err != nil {
		t.Error(err)
	}
}

// TestRBACRestart completes the default roles at the next start of a server, as upstream.
func TestRBACRestart(t *testing.T) {
	h := start(t)
	c := h.client().RbacV1()
	view := must(c.ClusterRoles().Get(h.ctx, "system:basic-user", metav1.GetOptions{}))(t)
	view.Rules = rules("get", "", "pods")
	must(c.ClusterRoles().Update(h.ctx, view, metav1.UpdateOptions{}))(t)
	discovery := must(c.ClusterRoles().Get(h.ctx, "system:discovery", metav1.GetOptions{}))(t)
	discovery.Rules, discovery.Annotations = nil, map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
	must(c.ClusterRoles().Update(h.ctx, discovery, metav1.UpdateOptions{}))(t)
	if err := c.ClusterRoleBindings().Delete(h.ctx, "system:basic-user", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second, err := apiserver.New(h.ctx, apiserver.Options{Store: h.store, CompactionInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	c = h.client(second.Config("admin", auth.GroupMasters)).RbacV1()
	if view = must(c.ClusterRoles().Get(h.ctx, "system:basic-user", metav1.GetOptions{}))(t); len(view.Rules) != 4 {
		t.Errorf("missing rules: %v", view.Rules)
	}
	must(c.ClusterRoleBindings().Get(h.ctx, "system:basic-user", metav1.GetOptions{}))(t)
	if discovery = must(c.ClusterRoles().Get(h.ctx, "system:discovery", metav1.GetOptions{}))(t); len(discovery.Rules) != 0 {
		t.Errorf("a protected role: %v", discovery.Rules)
	}
}

// BenchmarkRBAC measures a decision with 5,000 bindings.
func BenchmarkRBAC(b *testing.B) {
	h := start(b)
	h.createRules(&rbacv1.ClusterRole{ObjectMeta: named("pods"), Rules: rules("get", "", "pods")})
	for i := range 5000 {
		h.createRules(&rbacv1.RoleBinding{ObjectMeta: named(fmt.Sprintf("b%d", i)), RoleRef: roleRef("ClusterRole", "pods"), Subjects: []rbacv1.Subject{
			{Kind: "User", Name: fmt.Sprintf("user%d", i)}, {Kind: "User", Name: "many"},
		}})
	}
	for _, name := range []string{"user7", "many", "none"} {
		user := &auth.User{Name: name, Groups: []string{"a", "b", auth.GroupAuthenticated}}
		a := auth.Attributes{User: user, Verb: "get", Resource: true, Plural: "pods", Version: "v1", Namespace: "default", Name: "x"}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if decision, _, err := h.server.Authorizer().Authorize(b.Context(), a); err != nil || (decision == auth.Allow) != (name != "none") {
					b.Fatal(decision, err)
				}
			}
		})
	}
}
