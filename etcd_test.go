package minikcm_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// TestTwoProcessesOnOneEtcd has one cluster with everything and one with an apiserver
// alone on an etcd that runs elsewhere: what a client of the one writes, the parts of
// the other act on, and both see it.
func TestTwoProcessesOnOneEtcd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	etcd := store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}}
	whole := start(t, minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: etcd}, API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: 1}})
	bare := start(t, minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: etcd}, API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone}, Controllers: minikcm.ControllerOptions{NoScheduler: true, Selected: []string{"-*"}}})

	pods := bare.Client().CoreV1().Pods(metav1.NamespaceDefault)
	watcher, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case ev, ok := <-watcher.ResultChan():
			if !ok {
				t.Fatal("the watch ended")
			}
			if p, isPod := ev.Object.(*corev1.Pod); !isPod || p.Status.Phase != corev1.PodRunning {
				continue
			}
		case <-ctx.Done():
			t.Fatal("the pod does not run")
		}
		break
	}
	// A consistent read sees at once what the other process wrote.
	if err := whole.Client().CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	left, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Items) != 0 {
		t.Errorf("after the deletion there is %s", left.Items[0].Name)
	}
}
