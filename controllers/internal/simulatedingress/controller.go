package simulatedingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/network/routes"
)

// Name is the controller's name, and Account the name of its service account. Upstream has neither.
const (
	Name    = "simulated-ingress-controller"
	Account = "simulated-ingress-controller"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Account: Account,
		About:   "serves the Ingresses of IngressClasses whose controller is minikcm.dev/simulated (not one of upstream's)",
		Watches: []string{"ingressclasses", "services", "ingresses"}, Writes: []string{"services", "ingresses/status"},
		Docs:  "concepts/services-networking/ingress-controllers/",
		Build: build,
	}
}

// Controller serves IngressClasses. Its keys are IngressClasses, without a namespace, and Ingresses.
type Controller struct {
	env      *env.Env
	client   kubernetes.Interface
	classes  networkinglisters.IngressClassLister
	services corelisters.ServiceLister
	events   record.EventRecorder
	loop     loop.Loop

	mu sync.Mutex
	// ingresses watches Ingresses; nil before there is a class.
	ingresses    cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	// seen records the Ingresses that were reconciled.
	seen map[types.NamespacedName]seen
	// table has the rules of the Ingresses whose class is served.
	table routes.Table
}

// seen records the work for an Ingress.
type seen struct {
	uid        types.UID
	generation int64
	class      string
	// status is the written one; nil: none.
	status []networkingv1.IngressLoadBalancerIngress
	// lost are the hosts and paths that other rules have.
	lost []string
}

func build(p *controller.Parts) error {
	classes, services := p.Informers.IngressClasses(), p.Informers.Services()
	c := &Controller{env: p.Env, client: p.Client, classes: classes.Lister(), services: services.Lister(), events: p.Recorder.For(p.Name), seen: map[types.NamespacedName]seen{}}
	c.loop = loop.New(p.Options(), c)
	p.Go(c.run)
	c.loop.Watch(classes.Informer(), loop.Self)
	c.loop.Watch(services.Informer(), onService)
	return nil
}

// onService wakes the class of a router's Service.
func onService(ev loop.Event) []types.NamespacedName {
	service, ok := ev.Object.(*corev1.Service)
	if !ok {
		return nil
	}
	router, ok := routes.RouterOf(service)
	if old, isUpdate := ev.Old.(*corev1.Service); isUpdate && apiequality.Semantic.DeepEqual(old.Status.LoadBalancer, service.Status.LoadBalancer) {
		return nil
	}
	if !ok || router.Service() != loop.KeyOf(service) {
		return nil
	}
	return []types.NamespacedName{{Name: router.Name}}
}

// run works until ctx ends.
func (c *Controller) run(ctx context.Context) error {
	err := c.loop.Run(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registration != nil {
		err = errors.Join(err, c.ingresses.RemoveEventHandler(c.registration))
	}
	return err
}

// begin starts to watch Ingresses.
func (c *Controller) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registration != nil {
		return nil
	}
	add := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if i, ok := obj.(*networkingv1.Ingress); ok {
			c.add(i)
		}
	}
	c.ingresses = c.env.Informers.Ingresses().Informer()
	registration, err := c.ingresses.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add})
	if err != nil {
		return fmt.Errorf("watching Ingresses: %w", err)
	}
	c.registration = registration
	c.env.StartInformers()
	return nil
}

// add queues an Ingress, with its revision as the cause.
func (c *Controller) add(i *networkingv1.Ingress) {
	if revision, err := strconv.ParseInt(i.ResourceVersion, 10, 64); err == nil {
		c.loop.Add(loop.KeyOf(i), revision)
		return
	}
	c.loop.Add(loop.KeyOf(i))
}

// Reconcile brings up to date what a class or an Ingress needs.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	if key.Namespace == "" {
		return loop.Result{}, c.reconcileClass(ctx, key.Name)
	}
	return loop.Result{}, c.reconcileIngress(ctx, key)
}

func (c *Controller) reconcileClass(ctx context.Context, name string) error {
	class, err := c.classes.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("getting IngressClass %s: %w", name, err)
	}
	if err == nil && served(class) {
		if err := c.begin(); err != nil {
			return err
		}
		if err := c.provide(ctx, class); err != nil {
			return err
		}
	}
	return c.wakeIngresses(name)
}

// provide creates the Service of a class if it has none.
func (c *Controller) provide(ctx context.Context, class *networkingv1.IngressClass) error {
	wanted := serviceOf(class)
	name := loop.KeyOf(wanted)
	existing, err := c.services.Services(wanted.Namespace).Get(wanted.Name)
	if apierrors.IsNotFound(err) {
		existing, err = c.client.CoreV1().Services(wanted.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		existing, err = c.client.CoreV1().Services(wanted.Namespace).Get(ctx, wanted.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("providing Service %s of IngressClass %s: %w", name, class.Name, err)
	}
	if router, ok := routes.RouterOf(existing); !ok || router.Name != class.Name {
		c.events.Eventf(class, corev1.EventTypeWarning, "ServiceExists", "Service %s exists and does not lead to this class's router: delete it, or give it the annotation %s=%s", name, routes.Annotation, wanted.Annotations[routes.Annotation])
	}
	return nil // a Service of an earlier class with this name will be deleted, which wakes the class
}

// wakeIngresses queues the Ingresses of a class, and those for which addresses were written.
func (c *Controller) wakeIngresses(class string) error {
	c.mu.Lock()
	informer := c.ingresses
	c.mu.Unlock()
	if informer == nil {
		return nil
	}
	all, err := networkinglisters.NewIngressLister(informer.GetIndexer()).List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	for _, i := range all {
		if routes.ClassOf(i) == class {
			c.loop.Add(loop.KeyOf(i))
		}
	}
	return nil
}

func (c *Controller) reconcileIngress(ctx context.Context, key types.NamespacedName) error {
	c.mu.Lock()
	before := c.seen[key]
	c.mu.Unlock()
	obj, exists, err := c.ingresses.GetIndexer().GetByKey(key.String())
	i, ok := obj.(*networkingv1.Ingress)
	if err != nil || !exists || !ok || i.DeletionTimestamp != nil {
		c.forget(key)
		return err
	}
	if before.uid != i.UID {
		before = seen{}
	}
	class, err := c.classes.Get(routes.ClassOf(i))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("getting the class of Ingress %s: %w", key, err)
	}
	if err != nil || !served(class) {
		defer c.forget(key)
		// Another controller may have written the status meanwhile.
		if before.status != nil && apiequality.Semantic.DeepEqual(i.Status.LoadBalancer.Ingress, before.status) {
			return c.write(ctx, i, nil)
		}
		return nil
	}
	changed := before.generation != i.Generation || before.class != class.Name
	lost := c.compare(key, i, changed)
	if changed {
		before.lost = nil
		c.events.Event(i, corev1.EventTypeNormal, "Sync", "Scheduled for sync")
		for _, problem := range routes.Problems(i) {
			c.events.Event(i, corev1.EventTypeWarning, "Rejected", problem)
		}
	}
	for _, problem := range lost {
		if !slices.Contains(before.lost, problem) {
			c.events.Event(i, corev1.EventTypeWarning, "Rejected", problem)
		}
	}
	name := routes.Router{Name: class.Name}.Service()
	service, err := c.services.Services(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		service, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("getting Service %s: %w", name, err)
	}
	status := addressesOf(service)
	c.remember(key, seen{uid: i.UID, generation: i.Generation, class: class.Name, status: status, lost: lost})
	return c.write(ctx, i, status)
}

// compare returns what other rules have of an Ingress. If its rules changed, it wakes those that lose, or lost, a
// host and path to it.
func (c *Controller) compare(key types.NamespacedName, i *networkingv1.Ingress, changed bool) (lost []string) {
	c.mu.Lock()
	var outdone []types.NamespacedName
	if changed {
		outdone = c.table.Outdone(key)
		c.table.SetIngress(i)
		outdone = append(outdone, c.table.Outdone(key)...)
	}
	lost = c.table.Lost(key)
	c.mu.Unlock()
	for _, other := range outdone {
		c.loop.Add(other)
	}
	return lost
}

// forget forgets an Ingress, and wakes those that lost a host and path to it.
func (c *Controller) forget(key types.NamespacedName) {
	c.mu.Lock()
	delete(c.seen, key)
	outdone := c.table.Outdone(key)
	c.table.DeleteIngress(key)
	c.mu.Unlock()
	for _, other := range outdone {
		c.loop.Add(other)
	}
}

// remember keeps what was done for an Ingress.
func (c *Controller) remember(key types.NamespacedName, s seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[key] = s
}

// write writes the status of an Ingress if it differs.
func (c *Controller) write(ctx context.Context, i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress) error {
	if slices.EqualFunc(i.Status.LoadBalancer.Ingress, status, func(a, b networkingv1.IngressLoadBalancerIngress) bool {
		return apiequality.Semantic.DeepEqual(a, b)
	}) {
		return nil
	}
	changed := i.DeepCopy()
	changed.Status.LoadBalancer.Ingress = status
	_, err := c.client.NetworkingV1().Ingresses(i.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the addresses of Ingress %s: %w", loop.KeyOf(i), err)
	}
	return nil
}
