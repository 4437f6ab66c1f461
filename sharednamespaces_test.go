package minikcm_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// A process whose cache does not know yet that another one has changed, begun to delete, or removed a
// namespace decides about new objects in it as if it knew.
func TestCreateInNamespaceThatAnotherProcessChanged(t *testing.T) {
	ctx := t.Context()
	etcd := store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}}
	options := minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: etcd}, API: minikcm.APIOptions{NoHTTPS: true}, Faults: minikcm.FaultOptions{Store: true}, Nodes: minikcm.NodeOptions{Count: -1}, Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true}}
	ahead, behind := start(t, options), start(t, options)
	namespaces := ahead.Client().CoreV1().Namespaces()
	for _, name := range []string{"labeled", "terminating", "gone"} {
		if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(namespace, name string) error {
		_, err := behind.Client().CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	for _, name := range []string{"labeled", "terminating", "gone"} {
		if err := create(name, "before"); err != nil {
			t.Fatal(err)
		}
	}

	defer behind.StoreFaults().Inject(faulty.Fault{Operations: faulty.Watches, Prefix: "/registry/namespaces/", HoldWatches: true})()
	if _, err := namespaces.Patch(ctx, "labeled", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"terminating", "gone"} {
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	finalized, err := namespaces.Get(ctx, "gone", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	finalized.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(ctx, finalized, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	if err := create("labeled", "after"); err != nil {
		t.Errorf("in the namespace with a new label: %v", err)
	}
	if err := create("terminating", "after"); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("in the terminating namespace: %v", err)
	}
	if err := create("gone", "after"); !apierrors.IsNotFound(err) {
		t.Errorf("in the namespace that is gone: %v", err)
	}
	for namespace, want := range map[string]int{"labeled": 2, "terminating": 1, "gone": 1} { // no controller deletes them
		list, err := ahead.Client().CoreV1().ConfigMaps(namespace).List(context.WithoutCancel(ctx), metav1.ListOptions{})
		if err != nil || len(list.Items) != want {
			t.Errorf("%s: %d ConfigMaps, want %d, %v", namespace, len(list.Items), want, err)
		}
	}
}
