package gatewayrunner

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/network/gateways"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/kubeletsim/internal/kwokwatch"
)

// Name is the name of a Runner as an API client, in events and in the order of turns.
const Name = "simulated-gateway"

// Options configure a Runner. Client and Name are set by New.
type Options struct {
	kwokwatch.Options
	// Config connects to the API server.
	Config *rest.Config
	// Informers are shared. Start starts those that were requested.
	Informers informers.Kinds
	Start     func()
	// SetGateways passes on the Gateways that have effect from now on.
	SetGateways func(map[routes.Router]*routes.Gateway)
}

// Runner serves Gateways. Run it once.
type Runner struct {
	opts   Options
	client kubernetes.Interface
	loop   loop.Typed[string]
	// classes reads GatewayClasses. others makes what reads the other kinds, which is needed once there is a class to serve.
	classes *kwokwatch.Sources
	others  func() *kwokwatch.Sources
	running sync.WaitGroup

	mu      sync.Mutex
	objects map[string][]*unstructured.Unstructured
	// serving is closed when there is a class to serve.
	serving chan struct{}
	started bool
	// synced are the informers of what is referred to.
	synced []cache.DoneChecker
	// referred are the Services and Secrets that the last decision has read, by their kind.
	referred map[reference]bool
}

type reference struct {
	kind string
	key  types.NamespacedName
}

// everything is the only key of the loop.
const everything = "gateways"

// New returns a runner. It makes no request before Run.
func New(opts Options) (*Runner, error) {
	config := rest.CopyConfig(opts.Config)
	config.UserAgent = "minikcm/" + Name
	config.Wrap(cause.Wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", Name, err)
	}
	informers.Wrap(config) // the ledger counts the events that the informers receive
	opts.Client, err = dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", Name, err)
	}
	r := &Runner{opts: opts, client: client, objects: map[string][]*unstructured.Unstructured{}, serving: make(chan struct{}), referred: map[reference]bool{}}
	r.loop = loop.NewTyped(loop.TypedOptions[string]{Name: Name, Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger}, loop.TypedFunc[string](r.reconcile))
	kind := func(name, resource string, versions ...string) kwokwatch.Kind {
		return kwokwatch.Kind{Name: name, Resource: resource, Group: gateways.Group, Versions: versions, Read: func(all []*unstructured.Unstructured) (loop.Result, error) {
			r.read(name, all)
			return loop.Result{}, nil
		}}
	}
	of := opts.Options
	of.Name = Name + "-classes"
	r.classes = kwokwatch.New(of, kind(gateways.ClassKind, gateways.ClassResource, "v1", "v1beta1"))
	r.others = func() *kwokwatch.Sources {
		of.Name = Name + "-routes"
		return kwokwatch.New(of, kind(gateways.GatewayKind, gateways.GatewayResource, "v1", "v1beta1"), kind(gateways.RouteKind, gateways.RouteResource, "v1", "v1beta1"),
			kind(gateways.GrantKind, gateways.GrantResource, "v1", "v1beta1"))
	}
	return r, nil
}

// read keeps the objects of a kind.
func (r *Runner) read(kind string, all []*unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[kind] = all
	if kind == gateways.ClassKind && !r.started {
		for _, o := range all {
			if name, _, _ := unstructured.NestedString(o.Object, "spec", "controllerName"); name == routes.Controller && !r.started {
				r.started = true
				close(r.serving)
			}
		}
	}
	if r.started {
		r.loop.Add(everything)
	}
}

// Run works until ctx ends. It returns after everything that it started has ended.
func (r *Runner) Run(ctx context.Context) error {
	own := loop.WithBegun(ctx, func() {})           // the classes' is the one that counts
	r.running.Go(func() { _ = r.classes.Run(ctx) }) // always nil
	r.running.Go(func() {
		select {
		case <-r.serving:
			others := r.others()
			_ = others.Run(own) // always nil
			others.Wait()
		case <-ctx.Done():
		}
	})
	err := r.loop.Run(own)
	r.running.Wait()
	r.classes.Wait()
	return err
}

// watch begins to watch what Gateways and routes refer to, and returns when all of it is known.
func (r *Runner) watch(ctx context.Context) error {
	if r.synced == nil {
		i := r.opts.Informers
		for kind, informer := range map[string]cache.SharedIndexInformer{"Service": i.Services().Informer(), "Secret": i.Secrets().Informer(), "Namespace": i.Namespaces().Informer()} {
			see := func(obj any) { r.see(kind, obj) }
			registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(old, obj any) {
				if !unchanged(old, obj) {
					see(obj)
				}
			}, DeleteFunc: see})
			if err != nil {
				return fmt.Errorf("watching what Gateways refer to: %w", err)
			}
			r.synced = append(r.synced, registration.HasSyncedChecker())
		}
		r.opts.Start()
	}
	for _, synced := range r.synced {
		select {
		case <-synced.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// unchanged reports whether an update of a namespace leaves its labels as they are.
func unchanged(old, obj any) bool {
	before, ok := old.(*corev1.Namespace)
	after, isNamespace := obj.(*corev1.Namespace)
	return ok && isNamespace && apiequality.Semantic.DeepEqual(before.Labels, after.Labels)
}

// see decides again after a change of something that the last decision depends on.
func (r *Runner) see(kind string, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind == "Namespace" || r.referred[reference{kind, loop.KeyOf(o)}] {
		r.loop.Add(everything)
	}
}

// reconcile decides, and executes what was decided.
func (r *Runner) reconcile(ctx context.Context, _ string) (loop.Result, error) {
	if err := r.watch(ctx); err != nil {
		return loop.Result{}, err
	}
	s, err := r.snapshot()
	if err != nil {
		return loop.Result{}, err
	}
	result := gateways.Decide(s)
	r.opts.SetGateways(result.Table)
	return loop.Result{}, r.execute(ctx, result)
}

// snapshot returns what there is, and forgets what was referred to: the decision notes it again.
func (r *Runner) snapshot() (*gateways.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.referred = map[reference]bool{}
	note := func(kind string, key types.NamespacedName) {
		r.mu.Lock()
		r.referred[reference{kind, key}] = true
		r.mu.Unlock()
	}
	services, secrets, namespaces := r.opts.Informers.Services().Lister(), r.opts.Informers.Secrets().Lister(), r.opts.Informers.Namespaces().Lister()
	s := &gateways.Snapshot{
		Namespace: func(name string) map[string]string {
			if n, err := namespaces.Get(name); err == nil {
				return n.Labels
			}
			return nil
		},
		Service: func(key types.NamespacedName) *corev1.Service {
			note("Service", key)
			if found, err := services.Services(key.Namespace).Get(key.Name); err == nil {
				return found
			}
			return nil
		},
		Certified: func(key types.NamespacedName) bool {
			note("Secret", key)
			secret, err := secrets.Secrets(key.Namespace).Get(key.Name)
			if err != nil {
				return false
			}
			_, err = tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			return err == nil
		},
	}
	for _, err := range []error{
		typed(r.objects[gateways.ClassKind], &s.Classes), typed(r.objects[gateways.GatewayKind], &s.Gateways),
		typed(r.objects[gateways.RouteKind], &s.Routes), typed(r.objects[gateways.GrantKind], &s.Grants),
	} {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// typed converts objects.
func typed[T any](from []*unstructured.Unstructured, into *[]*T) error {
	for _, o := range from {
		one := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, one); err != nil {
			return fmt.Errorf("reading %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		*into = append(*into, one)
	}
	return nil
}
