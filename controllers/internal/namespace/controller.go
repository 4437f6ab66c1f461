package namespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/namespace/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "namespace-controller"

// workers is the number of namespaces that are emptied at once, upstream's default.
const workers = 10

// noWait retries writes of one small object immediately after a conflict.
var noWait = wait.Backoff{Steps: 5}

// Options configure the controller.
type Options struct {
	// DeletionDelay is the time to wait after the deletion of a namespace, so that every
	// apiserver of a cluster knows that the namespace accepts no new content. Upstream
	// waits 5 s; 0, the default, suffices for one apiserver.
	DeletionDelay time.Duration
}

// Controller empties namespaces. Its keys are namespaces.
type Controller struct {
	clock      clock.Clock
	client     kubernetes.Interface
	discovery  discovery.DiscoveryInterface
	metadata   metadata.Interface
	namespaces corelisters.NamespaceLister
	pods       corelisters.PodLister
	loop       loop.Loop
}

// New returns a controller with default options. Run starts it.
func New(ctx context.Context, e *env.Env) (*Controller, error) {
	return NewWithOptions(ctx, e, Options{})
}

// NewWithOptions is New with options.
func NewWithOptions(_ context.Context, e *env.Env, opts Options) (*Controller, error) {
	client, config, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client of %s: %w", Name, err)
	}
	namespaces, pods := e.Informers.Namespaces(), e.Informers.Pods()
	c := &Controller{
		clock: e.Clock, client: client, discovery: client.Discovery(), metadata: metadataClient,
		namespaces: namespaces.Lister(), pods: pods.Lister(),
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(namespaces.Informer(), func(ev loop.Event) []types.NamespacedName {
		return c.wakeTerminating(ev, opts.DeletionDelay)
	})
	c.loop.Watch(pods.Informer(), c.wakeWhenPodsAreGone)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

func (c *Controller) wakeTerminating(ev loop.Event, delay time.Duration) []types.NamespacedName {
	ns, ok := ev.Object.(*corev1.Namespace)
	if !ok || ev.Type == loop.Deleted || !decide.NeedsContentDeletion(ns) || onlyConditionsChanged(ev) {
		return nil
	}
	if delay > 0 {
		c.loop.AddAfter(types.NamespacedName{Name: ns.Name}, delay)
		return nil
	}
	return []types.NamespacedName{{Name: ns.Name}}
}

// onlyConditionsChanged recognizes the controller's own status writes, which need no
// reconcile.
func onlyConditionsChanged(ev loop.Event) bool {
	before, ok := ev.Old.(*corev1.Namespace)
	if !ok {
		return false
	}
	now := ev.Object.(*corev1.Namespace)
	return before.ResourceVersion != now.ResourceVersion &&
		decide.NeedsContentDeletion(before) == decide.NeedsContentDeletion(now) && before.Status.Phase == now.Status.Phase
}

// wakeWhenPodsAreGone enqueues a terminating namespace when its last pod is deleted, so
// that the rest does not wait for the estimated time.
func (c *Controller) wakeWhenPodsAreGone(ev loop.Event) []types.NamespacedName {
	if ev.Type != loop.Deleted {
		return nil
	}
	ns, err := c.namespaces.Get(ev.Object.GetNamespace())
	if err != nil || !decide.NeedsContentDeletion(ns) {
		return nil
	}
	if pods, err := c.pods.Pods(ns.Name).List(labels.Everything()); err != nil || len(pods) > 0 {
		return nil
	}
	return []types.NamespacedName{{Name: ns.Name}}
}

// Reconcile makes one pass over a terminating namespace, and finalizes it if it is empty.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	// Read from the API: the cache may not show yet that the namespace is finalized, and a
	// pass would be wasted.
	ns, err := c.client.CoreV1().Namespaces().Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting namespace %s: %w", key.Name, err)
	}
	if !decide.NeedsContentDeletion(ns) {
		return loop.Result{}, nil
	}
	outcome := c.deleteContent(ctx, ns)
	if err := c.writeStatus(ctx, ns, outcome); err != nil {
		return loop.Result{}, err
	}
	if err := outcome.Err(); err != nil {
		return loop.Result{}, fmt.Errorf("deleting the content of namespace %s: %w", ns.Name, err)
	}
	if estimate := outcome.Estimate(); estimate > 0 {
		return loop.Result{RequeueAfter: decide.RequeueAfter(estimate)}, nil
	}
	return loop.Result{}, c.finalize(ctx, ns)
}

// writeStatus writes the outcome of the pass if it changes the conditions.
func (c *Controller) writeStatus(ctx context.Context, ns *corev1.Namespace, outcome decide.Outcome) error {
	found := outcome.Conditions(metav1.NewTime(c.clock.Now()))
	latest := ns
	err := retry.RetryOnConflict(noWait, func() (err error) {
		if latest == nil {
			if latest, err = c.client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		merged, changed := decide.MergeConditions(latest.Status.Conditions, found)
		if !changed && latest.Status.Phase == corev1.NamespaceTerminating {
			return nil
		}
		update := latest.DeepCopy()
		update.Status.Phase, update.Status.Conditions = corev1.NamespaceTerminating, merged
		latest = nil // read it again after a conflict
		_, err = c.client.CoreV1().Namespaces().UpdateStatus(ctx, update, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("updating the status of namespace %s: %w", ns.Name, err)
	}
	return nil
}

// finalize removes this controller's finalizer from the namespace.
func (c *Controller) finalize(ctx context.Context, ns *corev1.Namespace) error {
	err := retry.RetryOnConflict(noWait, func() error {
		latest, err := c.client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if latest.UID != ns.UID {
			return nil
		}
		latest.Spec.Finalizers = decide.WithoutFinalizer(latest.Spec.Finalizers)
		_, err = c.client.CoreV1().Namespaces().Finalize(ctx, latest, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("finalizing namespace %s: %w", ns.Name, err)
	}
	return nil
}
