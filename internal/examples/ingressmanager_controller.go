// Code generated from examples/ingressmanager/controller.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const annotation = "ingress/http"

// controller reconciles Services, by the keys namespace/name. An Ingress has the key of the
// Service that controls it.
type controller struct {
	client    kubernetes.Interface
	services  corelisters.ServiceLister
	ingresses networkinglisters.IngressLister
	synced    []cache.InformerSynced
	queue     workqueue.TypedRateLimitingInterface[string]
}

func newController(client kubernetes.Interface, factory informers.SharedInformerFactory) (*controller, error) {
	services, ingresses := factory.Core().V1().Services(), factory.Networking().V1().Ingresses()
	c := &controller{
		client: client, services: services.Lister(), ingresses: ingresses.Lister(),
		synced: []cache.InformerSynced{services.Informer().HasSynced, ingresses.Informer().HasSynced},
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	if _, err := services.Informer().AddEventHandler(handlers(c.enqueue)); err != nil {
		return nil, err
	}
	_, err := ingresses.Informer().AddEventHandler(handlers(c.enqueueOwner))
	return c, err
}

// handlers calls enqueue for every change: a reconcile finds out itself what there is to do.
func handlers(enqueue func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, DeleteFunc: enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
	}
}

func (c *controller) enqueue(obj any) {
	// An object whose deletion was missed is wrapped in a DeletedFinalStateUnknown.
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.queue.Add(key)
	}
}

func (c *controller) enqueueOwner(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	ingress, ok := obj.(*networkingv1.Ingress)
	if !ok {
		return
	}
	if owner := metav1.GetControllerOf(ingress); owner != nil && owner.Kind == "Service" {
		c.queue.Add(ingress.Namespace + "/" + owner.Name)
	}
}

// run works with so many workers until ctx ends. The queue gives no two workers the same key.
func (c *controller) run(ctx context.Context, workers int) {
	context.AfterFunc(ctx, c.queue.ShutDown)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	working.Wait()
}

func (c *controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, key); err != nil {
		c.queue.AddRateLimited(key)
		fmt.Printf("failure %d of %s: %v\n", c.queue.NumRequeues(key), key, err)
		return true
	}
	c.queue.Forget(key)
	return true
}

// reconcile makes the Ingress of a Service what it should be, whatever has happened.
func (c *controller) reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil // no such key is ever added
	}
	service, err := c.services.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil // the garbage collector deletes the Ingress with its owner
	}
	if err != nil {
		return err
	}
	ingress, err := c.ingresses.Ingresses(namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	ingresses, exists := c.client.NetworkingV1().Ingresses(namespace), err == nil
	wanted := service.Annotations[annotation] == "true" && service.DeletionTimestamp == nil && len(service.Spec.Ports) > 0
	switch {
	case exists && !metav1.IsControlledBy(ingress, service):
		return nil // it belongs to another owner, or to a user
	case exists && !wanted:
		return report("deleted", key, ingresses.Delete(ctx, name, metav1.DeleteOptions{}))
	case !exists && wanted:
		_, err = ingresses.Create(ctx, ingressFor(service), metav1.CreateOptions{})
		return report("created", key, err)
	case exists && !equality.Semantic.DeepEqual(ingress.Spec, ingressFor(service).Spec):
		changed := ingress.DeepCopy() // the cache's object is shared: never change it
		changed.Spec = ingressFor(service).Spec
		_, err = ingresses.Update(ctx, changed, metav1.UpdateOptions{})
		return report("updated", key, err)
	}
	return nil
}

// report prints what was done. The cache may be behind: then an event follows, and the error
// needs no other attempt.
func report(done, key string, err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		fmt.Println(done, "the Ingress of", key)
	}
	return err
}

// ingressFor returns the Ingress that a Service should have.
func ingressFor(service *corev1.Service) *networkingv1.Ingress {
	pathType := networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Name: service.Name, Namespace: service.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: service.Name + "." + service.Namespace + ".example.com",
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &pathType,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: service.Name, Port: networkingv1.ServiceBackendPort{Number: service.Spec.Ports[0].Port},
				}},
			}}}},
		}}},
	}
}
