package namespace

import (
	"context"
	"fmt"

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
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/namespace/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// noWait retries writes of one small object immediately after a conflict.
var noWait = wait.Backoff{Steps: 5}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "namespace-controller", Workers: 10, Aliases: []string{"namespace"}, Account: "namespace-controller",
		About:   "empties namespaces that are being deleted",
		Watches: []string{"namespaces", "pods"}, Writes: []string{"namespaces/finalize", "namespaces/status", "everything in a namespace"},
		Docs: "concepts/overview/working-with-objects/namespaces/",
		Concurrency: controller.Concurrency{Flag: "concurrent-namespace-syncs", What: "namespaces", In: func(s *controller.Settings) *int32 {
			return &s.NamespaceController.ConcurrentNamespaceSyncs
		}},
		Build: build,
	}
}

// Controller empties namespaces. Its keys are namespaces.
type Controller struct {
	clock      clock.Clock
	client     kubernetes.Interface
	discovery  discovery.DiscoveryInterface
	metadata   metadata.Interface
	namespaces corelisters.NamespaceLister
	pods       corelisters.PodLister
}

func build(p *controller.Parts) error {
	metadataClient, err := metadata.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("making the metadata client of %s: %w", p.Name, err)
	}
	namespaces, pods := p.Informers.Namespaces(), p.Informers.Pods()
	c := &Controller{
		clock: p.Clock, client: p.Client, discovery: p.Client.Discovery(), metadata: metadataClient,
		namespaces: namespaces.Lister(), pods: pods.Lister(),
	}
	l := p.Loop(c)
	l.Watch(namespaces.Informer(), wakeTerminating)
	l.Watch(pods.Informer(), c.wakeWhenPodsAreGone)
	return nil
}

func wakeTerminating(ev loop.Event) []types.NamespacedName {
	ns, ok := ev.Object.(*corev1.Namespace)
	if !ok || ev.Type == loop.Deleted || !decide.NeedsContentDeletion(ns) || onlyConditionsChanged(ev) {
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
