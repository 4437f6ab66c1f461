package minikcm

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Denied reports controllers that lack a permission, and no other service account.
func TestDenied(t *testing.T) {
	t.Parallel()
	denied := make(chan string, 100)
	cluster, err := Start(t.Context(), Options{API: APIOptions{NoHTTPS: true}, Nodes: NodeOptions{Count: -1}, Security: SecurityOptions{Denied: func(user string, err error) { denied <- user + ": " + err.Error() }}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	operator, err := kubernetes.NewForConfig(cluster.ConfigFor("system:serviceaccount:kube-system:operator", "system:serviceaccounts"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an account without a role: %v", err)
	}
	client := cluster.Client()
	if err := client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "system:controller:deployment-controller", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-denied:
		const want = `system:serviceaccount:kube-system:deployment-controller: replicasets.apps is forbidden: User "system:serviceaccount:kube-system:deployment-controller" cannot create resource "replicasets"`
		if !strings.HasPrefix(got, want) {
			t.Errorf("denied was %s", got)
		}
	case <-t.Context().Done():
		t.Error("the test ended before a request was denied")
	}
}
