package minikcmapi

import (
	"context"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The role view shows the simulation, and the role edit cannot change it.
func TestAccessToSimulation(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	for user, role := range map[string]string{"viewer": "view", "editor": "edit"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := cluster.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	may := func(ctx context.Context, client kubernetes.Interface, user, verb, resource string) (bool, error) {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "simulation.minikcm.dev", Resource: resource, Verb: verb},
		}}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	}
	for _, user := range []string{"viewer", "editor"} {
		for _, resource := range []string{"clocks", "faults", "forks", "scenarioruns"} {
			cluster.Eventually(user+" may see "+resource, func(ctx context.Context, client kubernetes.Interface) error {
				allowed, err := may(ctx, client, user, "watch", resource)
				if err == nil && !allowed {
					err = fmt.Errorf("it may not")
				}
				return err
			})
			for _, verb := range []string{"create", "patch", "delete"} {
				if allowed, err := may(t.Context(), cluster.Client(), user, verb, resource); err != nil || allowed {
					t.Errorf("%s may %s %s: %v", user, verb, resource, err)
				}
			}
		}
		if allowed, err := may(t.Context(), cluster.Client(), user, "get", "accessrecordings"); err != nil || allowed {
			t.Errorf("%s may see recordings: %v", user, err)
		}
	}
}
