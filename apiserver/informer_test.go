package apiserver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// client-go's informers follow changes.
func TestInformer(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		fill(t, h, 3)
		client := h.client(cfg)
		ctx, cancel := context.WithCancel(h.ctx)
		factory := informers.NewSharedInformerFactory(client, 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		changed := make(chan string, 1000)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { changed <- "+" + obj.(*corev1.ConfigMap).Name },
			UpdateFunc: func(_, obj any) { changed <- "~" + obj.(*corev1.ConfigMap).Name },
			DeleteFunc: func(obj any) { changed <- "-" + obj.(*corev1.ConfigMap).Name },
		})
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		if !cache.WaitForCacheSync(h.ctx.Done(), informer.HasSynced) {
			t.Fatal("the informer does not sync")
		}
		for range 3 {
			<-changed // the state, in any order
		}
		maps := client.CoreV1().ConfigMaps("default")
		cm := must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
		await(t, h, changed, "+a")
		cm.Data = map[string]string{"k": "v"}
		must(maps.Update(h.ctx, cm, metav1.UpdateOptions{}))(t)
		await(t, h, changed, "~a")
		if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, h, changed, "-a")
		if n := len(informer.GetStore().ListKeys()); n != 3 {
			t.Fatalf("the informer knows %d objects", n)
		}
	})
}

func await(t testing.TB, h *harness, changed <-chan string, want string) {
	t.Helper()
	select {
	case got := <-changed:
		if got != want {
			t.Fatalf("the informer delivers %s, want %s", got, want)
		}
	case <-h.ctx.Done():
		t.Fatalf("the informer does not deliver %s", want)
	}
}

// With many writers, every informer ends with the stored state.
func TestInformersConverge(t *testing.T) {
	h := start(t)
	ctx, cancel := context.WithCancel(h.ctx)
	var stores []cache.Store
	for _, w := range []wire{inMemory(), overHTTPS(), overHTTP1()} {
		factory := informers.NewSharedInformerFactory(h.client(w.config(h)), 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		stores = append(stores, informer.GetStore())
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		if !cache.WaitForCacheSync(h.ctx.Done(), informer.HasSynced) {
			t.Fatal("the informer does not sync")
		}
	}
	defer cancel()
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { churn(t, h, i) })
	}
	writers.Wait()
	truth := map[string]string{}
	for _, cm := range must(h.client().CoreV1().ConfigMaps("").List(h.ctx, metav1.ListOptions{}))(t).Items {
		truth[cm.Namespace+"/"+cm.Name] = cm.ResourceVersion
	}
	for i, s := range stores {
		if err := follows(h.ctx, h, s, truth); err != nil {
			t.Errorf("informer %d: %v", i, err)
		}
	}
}

func churn(t *testing.T, h *harness, i int) {
	maps := h.client().CoreV1().ConfigMaps("default")
	for j := range 20 {
		name := fmt.Sprintf("w%d-%d", i, j)
		cm, err := maps.Create(h.ctx, configMap(name), metav1.CreateOptions{})
		if err == nil {
			cm.Data = map[string]string{"j": name}
			_, err = maps.Update(h.ctx, cm, metav1.UpdateOptions{})
		}
		if err == nil && j%2 == 0 {
			err = maps.Delete(h.ctx, name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// follows waits until an informer's store equals truth. It compares again after every
// change of the resource.
func follows(ctx context.Context, h *harness, s cache.Store, truth map[string]string) error {
	same := func() bool {
		if len(s.ListKeys()) != len(truth) {
			return false
		}
		for _, obj := range s.List() {
			cm := obj.(*corev1.ConfigMap)
			if truth[cm.Namespace+"/"+cm.Name] != cm.ResourceVersion {
				return false
			}
		}
		return true
	}
	for !same() {
		// The ledger is idle when every in-memory client has read all that was sent to
		// it; clients over sockets may be slightly behind.
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("it knows %d objects, want %d: %w", len(s.ListKeys()), len(truth), err)
		}
		if err := h.ledger.WaitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A RetryWatcher resumes where a watch was cut.
func TestRetryWatcher(t *testing.T) {
	h := start(t)
	maps := h.client().CoreV1().ConfigMaps("default")
	list := must(maps.List(h.ctx, metav1.ListOptions{}))(t)
	short := int64(1)
	w, err := toolswatch.NewRetryWatcherWithContext(h.ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.TimeoutSeconds = &short
			return maps.Watch(ctx, opts)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		name := fmt.Sprintf("a%d", i)
		must(maps.Create(h.ctx, configMap(name), metav1.CreateOptions{}))(t)
		h.want(t, w, "ADDED", name)
	}
	w.Stop()
	h.ended(t, w)
	<-w.Done()
}
