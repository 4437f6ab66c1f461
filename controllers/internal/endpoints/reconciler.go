package endpoints

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/endpoints/decide"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources holds the dependencies of a reconciler.
type Sources struct {
	Writer   executor.Writer
	Recorder record.EventRecorder
	// Services, Pods and Endpoints are the informers' caches.
	Services, Pods, Endpoints cache.Indexer
	// Sized is called with the number of pods that a service has; nil: nothing is called.
	Sized func(service types.NamespacedName, pods int)
	// Decide replaces decide.Endpoints if not nil: model tests compare and plant mistakes here.
	Decide func(service *corev1.Service, account *decide.Account, current *corev1.Endpoints, trigger time.Time) *corev1.Endpoints
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// Pass every event of a pod to ObservePod before OnPod.
type Reconciler struct {
	Sources
	services  corelisters.ServiceLister
	endpoints corelisters.EndpointsLister
	selection *selection.Selection
	changes   selection.Changes
	triggers  selection.Triggers

	mu sync.Mutex
	// accounts has the account of each service. The reconcile of the service, of which there
	// is one at a time, uses it without the lock.
	accounts map[types.NamespacedName]*decide.Account
}

// NewReconciler returns a reconciler. It adds the indices that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	selected, err := selection.New(s.Pods, s.Services)
	if err != nil {
		return nil, err
	}
	if s.Sized == nil {
		s.Sized = func(types.NamespacedName, int) {}
	}
	if s.Decide == nil {
		s.Decide = decide.Endpoints
	}
	return &Reconciler{
		Sources: s, services: corelisters.NewServiceLister(s.Services), endpoints: corelisters.NewEndpointsLister(s.Endpoints),
		selection: selected, accounts: map[types.NamespacedName]*decide.Account{},
	}, nil
}

// ObservePod marks the pod as changed for the services that select it, or selected it before.
func (r *Reconciler) ObservePod(ev loop.Event) {
	r.changes.Touch(r.selection.Wake(ev), ev.Object.GetName())
}

// OnPod enqueues the services that select a pod, or selected it before.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName { return r.selection.Wake(ev) }

// OnEndpoints enqueues deleted objects, to create them again, and once the
// controller's own objects that existed before, because their service may be gone. It
// ignores objects that other clients created without a service.
func OnEndpoints(ev loop.Event) []types.NamespacedName {
	ours := decide.Managed(ev.Object)
	if ev.Type == loop.Deleted || ev.Type == loop.Added && ours {
		return loop.Self(ev)
	}
	return nil
}

// Reconcile updates the Endpoints of one service.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	current, err := r.endpoints.Endpoints(key.Namespace).Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting endpoints %s: %w", key, err)
	}
	if err != nil {
		current = nil
	}
	service, err := r.services.Services(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, r.forget(ctx, key, current)
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting service %s: %w", key, err)
	}
	if service.Spec.Selector == nil {
		return loop.Result{}, nil // its endpoints are written by other clients
	}
	account, trigger, err := r.update(key, service)
	if err != nil {
		return loop.Result{}, err
	}
	desired := r.Decide(service, account, current, trigger)
	if desired == nil {
		return loop.Result{}, nil
	}
	return loop.Result{}, r.write(ctx, key, desired)
}

// update applies the changes since the last reconcile to the service's account. It also
// returns the time of the change that leads to the new object.
func (r *Reconciler) update(key types.NamespacedName, service *corev1.Service) (*decide.Account, time.Time, error) {
	names, all := r.changes.Take(service)
	r.mu.Lock()
	account := r.accounts[key]
	r.mu.Unlock()
	if all || account == nil {
		pods, err := r.selection.Pods(key.Namespace, service.Spec.Selector)
		if err != nil {
			r.changes.Forget(key)
			return nil, time.Time{}, err
		}
		account = decide.NewAccount(service, pods)
		r.mu.Lock()
		r.accounts[key] = account
		r.mu.Unlock()
		r.Sized(key, len(pods))
		return account, r.triggers.All(service, pods), nil
	}
	pods, err := r.selection.Named(key.Namespace, names, service.Spec.Selector)
	if err != nil {
		r.changes.Forget(key)
		return nil, time.Time{}, err
	}
	for _, name := range names {
		account.Unset(name)
	}
	for _, pod := range pods {
		account.Set(pod)
	}
	r.Sized(key, account.Len())
	return account, r.triggers.Some(service, names, pods), nil
}

// forget deletes the object of a service that is gone, as upstream does, even if another
// client wrote it.
func (r *Reconciler) forget(ctx context.Context, key types.NamespacedName, current *corev1.Endpoints) error {
	r.Sized(key, 0)
	r.triggers.Forget(key)
	r.changes.Forget(key)
	r.mu.Lock()
	delete(r.accounts, key)
	r.mu.Unlock()
	if current == nil {
		return nil
	}
	err := r.Writer.Delete(ctx, current)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting endpoints %s: %w", key, err)
	}
	return nil
}

func (r *Reconciler) write(ctx context.Context, key types.NamespacedName, desired *corev1.Endpoints) error {
	if desired.ResourceVersion == "" {
		_, err := r.Writer.Create(ctx, desired)
		switch {
		case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return nil
		case ctx.Err() == nil:
			r.Recorder.Eventf(desired, corev1.EventTypeWarning, "FailedToCreateEndpoint", "Failed to create endpoint for service %v: %v", key, err)
		}
		return fmt.Errorf("creating endpoints %s: %w", key, err)
	}
	_, err := r.Writer.Update(ctx, desired, "")
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		// The cache is stale: its next event, or the retry, uses the current object.
	case ctx.Err() == nil:
		r.Recorder.Eventf(desired, corev1.EventTypeWarning, "FailedToUpdateEndpoint", "Failed to update endpoint %v: %v", key, err)
	}
	return fmt.Errorf("updating endpoints %s: %w", key, err)
}
