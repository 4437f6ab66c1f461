package minikcm

import (
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The kubeconfig of a user authenticates the user, who may do what roles allow.
func TestUserKubeconfig(t *testing.T) {
	t.Parallel()
	cluster, err := Start(t.Context(), Options{Nodes: NodeOptions{Count: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	data, err := cluster.UserKubeconfig("jane", "dev")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := jane.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || self.Status.UserInfo.Username != "jane" || !slices.Contains(self.Status.UserInfo.Groups, "dev") {
		t.Errorf("%v, %v", self, err)
	}
	if _, err := jane.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v", err)
	}
}
