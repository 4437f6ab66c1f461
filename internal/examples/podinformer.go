// Code generated from examples/podinformer/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const byNode = "node"

// The program podinformer is an informer for pods, put together by hand from the parts that client-go
// has for it:
//
//	API server -> Reflector -> DeltaFIFO -> Indexer
//	                               |
//	                               +-> handler -> work queue -> reconcile
func podinformer(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// The Indexer is the copy of all pods in memory, by namespace/name, and by node.
	indexer := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{
		byNode: func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	// The DeltaFIFO keeps, for each pod, what has changed since it was taken out last. It knows the
	// Indexer, so that a pod that a later list lacks becomes a Deleted delta.
	fifo := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: indexer, EmitDeltaTypeReplaced: true})
	// The Reflector lists and watches, and lists again when its watch cannot go on.
	pods := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceDefault, fields.Everything())
	reflector := cache.NewReflectorWithOptions(pods, &corev1.Pod{}, fifo, cache.ReflectorOptions{Name: "pods"})
	// The work queue holds keys, not events: a key that is added twice is worked on once.
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())

	go reflector.RunWithContext(ctx)
	go func() {
		for ctx.Err() == nil {
			_, _ = fifo.Pop(func(obj any, _ bool) error { return handle(obj.(cache.Deltas), indexer, queue) })
		}
	}()
	context.AfterFunc(ctx, func() {
		fifo.Close()
		queue.ShutDown()
	})
	work(queue, indexer)
	return nil
}

// handle updates the Indexer by the changes of one pod, and adds its key to the queue.
func handle(deltas cache.Deltas, indexer cache.Indexer, queue workqueue.TypedInterface[string]) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(deltas.Newest().Object)
	if err != nil {
		return err
	}
	for _, delta := range deltas {
		fmt.Println("delta", delta.Type, key)
		if delta.Type == cache.Deleted {
			err = indexer.Delete(delta.Object)
		} else { // Replaced, Added, Updated: the newest state counts
			err = indexer.Update(delta.Object)
		}
		if err != nil {
			return err
		}
	}
	queue.Add(key)
	return nil
}

// work reconciles one key after the other until the queue is shut down. A key that fails is
// added again, later and later.
func work(queue workqueue.TypedRateLimitingInterface[string], indexer cache.Indexer) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := reconcile(key, indexer); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// reconcile looks at the present state of a pod. It does not know which events led to it.
func reconcile(key string, indexer cache.Indexer) error {
	obj, exists, err := indexer.GetByKey(key)
	if err != nil {
		return err
	}
	if !exists {
		fmt.Println("reconcile", key, "is gone")
		return nil
	}
	pod := obj.(*corev1.Pod)
	beside, err := indexer.ByIndex(byNode, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	fmt.Printf("reconcile %s is %s on %q, with %d pods there\n", key, pod.Status.Phase, pod.Spec.NodeName, len(beside))
	return nil
}
