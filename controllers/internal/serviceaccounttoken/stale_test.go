package serviceaccounttoken

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// TestForgetsInAStaleCache deletes a secret before the cache knows that its account lists it.
func TestForgetsInAStaleCache(t *testing.T) {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa"}, Secrets: []corev1.ObjectReference{{Name: "first"}, {Name: "second"}},
	}
	empty := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	c := &Controller{client: fake.NewClientset(account), secrets: corelisters.NewSecretLister(empty), accounts: corelisters.NewServiceAccountLister(empty)}
	if _, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "first/sa"}); err != nil {
		t.Fatal(err)
	}
	got, err := c.client.CoreV1().ServiceAccounts("ns").Get(t.Context(), "sa", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Secrets) != 1 || got.Secrets[0].Name != "second" {
		t.Errorf("the account lists %v", got.Secrets)
	}
}
