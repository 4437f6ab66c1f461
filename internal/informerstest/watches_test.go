package informerstest_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/informerstest"
)

// TestDeletionsAfterWaitArrive deletes a pod as soon as Wait allows, many times: between the list and
// the watch, the fake would lose the deletion.
func TestDeletionsAfterWaitArrive(t *testing.T) {
	for range 100 {
		client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
		watches := informerstest.Observe(&client.Fake)
		factory := kubeinformers.NewSharedInformerFactory(client, 0)
		deleted := make(chan struct{})
		_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { close(deleted) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		if err := watches.Wait(ctx, "pods"); err != nil {
			t.Fatal(err)
		}
		if err := client.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-deleted
		cancel()
		factory.Shutdown()
	}
}

func TestWaitNamesWhatIsNotWatched(t *testing.T) {
	client := fake.NewClientset()
	watches := informerstest.Observe(&client.Fake)
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = watches.Wait(ctx, "pods", "nodes", "services")
	if err == nil || err.Error() != "waiting for watches of nodes, services: context canceled" {
		t.Errorf("Wait returned %v", err)
	}
}
