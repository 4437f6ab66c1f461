package simulatedingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
		Watches: []string{"ingressclasses", "services", "ingresses", "secrets"}, Writes: []string{"services", "ingresses/status"},
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
	// ingresses watches Ingresses, and secrets reads Secrets; nil before there is a class.
	ingresses cache.SharedIndexInformer
	secrets   corelisters.SecretLister
	// synced reports whether the Secrets that exist are known.
	synced cache.DoneChecker
	// end removes the handlers of both.
	end func() error
	// users are the Ingresses that name a Secret.
	users map[types.NamespacedName]map[types.NamespacedName]bool
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
	// secrets are the Secrets that it names for its certificates, and untrusted says why some of these certificates cannot be used.
	secrets   []types.NamespacedName
	untrusted []string
}

func build(p *controller.Parts) error {
	classes, services := p.Informers.IngressClasses(), p.Informers.Services()
	c := &Controller{env: p.Env, client: p.Client, classes: classes.Lister(), services: services.Lister(), events: p.Recorder.For(p.Name), seen: map[types.NamespacedName]seen{}, users: map[types.NamespacedName]map[types.NamespacedName]bool{}}
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
	if c.end != nil {
		err = errors.Join(err, c.end())
	}
	return err
}

// begin starts to watch Ingresses and their Secrets.
func (c *Controller) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return nil
	}
	secrets := c.env.Informers.Secrets()
	c.ingresses, c.secrets = c.env.Informers.Ingresses().Informer(), secrets.Lister()
	follow := func(informer cache.SharedIndexInformer, see func(obj any)) (cache.ResourceEventHandlerRegistration, error) {
		last := func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			see(obj)
		}
		return informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: last, UpdateFunc: func(_, obj any) { last(obj) }, DeleteFunc: last})
	}
	ofIngresses, err := follow(c.ingresses, func(obj any) {
		if i, ok := obj.(*networkingv1.Ingress); ok {
			c.add(i, loop.KeyOf(i))
		}
	})
	if err != nil {
		return fmt.Errorf("watching Ingresses: %w", err)
	}
	ofSecrets, err := follow(secrets.Informer(), c.seeSecret)
	if err != nil {
		return errors.Join(fmt.Errorf("watching Secrets: %w", err), c.ingresses.RemoveEventHandler(ofIngresses))
	}
	c.synced = ofSecrets.HasSyncedChecker()
	c.end = func() error {
		return errors.Join(c.ingresses.RemoveEventHandler(ofIngresses), secrets.Informer().RemoveEventHandler(ofSecrets))
	}
	c.env.StartInformers()
	return nil
}

// seeSecret queues the Ingresses that name a Secret.
func (c *Controller) seeSecret(obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	c.mu.Lock()
	users := slices.SortedFunc(maps.Keys(c.users[loop.KeyOf(secret)]), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	c.mu.Unlock()
	for _, user := range users {
		c.add(secret, user)
	}
}

// add queues an Ingress, with the revision of an object as the cause.
func (c *Controller) add(because metav1.Object, key types.NamespacedName) {
	if revision, err := strconv.ParseInt(because.GetResourceVersion(), 10, 64); err == nil {
		c.loop.Add(key, revision)
		return
	}
	c.loop.Add(key)
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
	untrusted, err := c.verify(ctx, key, i, before)
	if err != nil {
		return err
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
	c.remember(key, seen{uid: i.UID, generation: i.Generation, class: class.Name, status: status, lost: lost, secrets: secretsOf(i), untrusted: untrusted})
	return c.write(ctx, i, status)
}

// verify returns what is wrong with the certificates of an Ingress, and reports what is new. The Ingress is woken when one of its Secrets
// changes from now on.
func (c *Controller) verify(ctx context.Context, key types.NamespacedName, i *networkingv1.Ingress, before seen) ([]string, error) {
	before.secrets = secretsOf(i)
	c.remember(key, before)
	if len(before.secrets) > 0 {
		select {
		case <-c.synced.Done():
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the Secrets of Ingress %s: %w", key, context.Cause(ctx))
		}
	}
	untrusted := certificateProblems(i, func(name string) *corev1.Secret {
		secret, err := c.secrets.Secrets(i.Namespace).Get(name)
		if err != nil {
			return nil
		}
		return secret
	})
	for _, problem := range untrusted {
		if !slices.Contains(before.untrusted, problem) {
			c.events.Event(i, corev1.EventTypeWarning, "DefaultCertificate", problem)
		}
	}
	return untrusted, nil
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
	c.setLocked(key, nil)
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
	c.setLocked(key, &s)
}

// setLocked replaces what was done for an Ingress; nil forgets it. It requires the lock.
func (c *Controller) setLocked(key types.NamespacedName, s *seen) {
	for _, secret := range c.seen[key].secrets {
		if delete(c.users[secret], key); len(c.users[secret]) == 0 {
			delete(c.users, secret)
		}
	}
	if s == nil {
		delete(c.seen, key)
		return
	}
	c.seen[key] = *s
	for _, secret := range s.secrets {
		if c.users[secret] == nil {
			c.users[secret] = map[types.NamespacedName]bool{}
		}
		c.users[secret][key] = true
	}
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
