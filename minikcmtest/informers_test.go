package minikcmtest_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/minikcmtest"
)

// Informers of one namespace receive no objects of other namespaces, and virtual time waits
// for them.
func TestInformersOfANamespace(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime())
	factory, err := informers.NewForConfig(c.Config(), c.Ledger(), informers.WithNamespace("kube-system"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		factory.Shutdown()
	}()
	configMaps := factory.Core().V1().ConfigMaps()
	configMaps.Informer()
	factory.StartWithContext(ctx)
	for _, namespace := range []string{"default", "kube-system"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made-by-the-test"}}
		if _, err := c.Client().CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Advance(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	all, err := configMaps.Lister().List(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, cm := range all {
		found = found || cm.Name == "made-by-the-test"
		if cm.Namespace != "kube-system" {
			t.Errorf("it sees %s/%s", cm.Namespace, cm.Name)
		}
	}
	if !found {
		t.Error("it does not see what was made in its namespace")
	}
}
