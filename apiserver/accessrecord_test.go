package apiserver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/auth"
)

// While a user is recorded, it may do everything, and what it asked for and granted is
// recorded, but neither questions nor what every user may do.
func TestRecordAccess(t *testing.T) {
	h := start(t)
	recorded := kubernetes.NewForConfigOrDie(h.server.Config("jane", auth.GroupAuthenticated))
	recording, err := h.server.RecordAccess("jane", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.server.RecordAccess("jane", false); !apierrors.IsConflict(err) {
		t.Errorf("a second recording of the user: %v", err)
	}
	if _, err := recorded.CoreV1().ConfigMaps("default").Create(h.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := recorded.CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"},
	}}
	if answer, err := recorded.AuthorizationV1().SelfSubjectAccessReviews().Create(h.ctx, review, metav1.CreateOptions{}); err != nil || !answer.Status.Allowed {
		t.Errorf("a question of the recorded user: %v, %v", answer, err)
	}
	if _, err := recorded.RbacV1().Roles("default").Create(h.ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"key"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	impersonating := rest.CopyConfig(h.server.Config("jane", auth.GroupAuthenticated))
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "joe"}
	_, err = kubernetes.NewForConfigOrDie(impersonating).CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("what the impersonated user may not: %v", err)
	}
	recording.End()
	requests, complete := recording.Requests()
	var lines []string
	for i := range requests {
		lines = append(lines, requests[i].String())
	}
	want := []string{
		"get configmaps in default", "create configmaps in default", "get secrets in default", "impersonate users",
		"create roles.rbac.authorization.k8s.io in default",
	}
	if diff := cmp.Diff(want, lines); diff != "" || !complete {
		t.Errorf("complete: %v; recorded (-want +got):\n%s", complete, diff)
	}
	if _, err := recorded.CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("after the recording: %v", err)
	}
}
