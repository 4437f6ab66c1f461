package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/resourcequota/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/quota"
)

// Name is upstream's name of the controller.
const Name = "resourcequota-controller"

// conflictRetry is the delay before a quota is counted again that has changed, or whose
// objects have, since it was counted.
const conflictRetry = 100 * time.Millisecond

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"resourcequota"}, Account: "resourcequota-controller",
		About:   "counts what a namespace uses of its quotas",
		Watches: []string{"resourcequotas", "pods", "services", "persistentvolumeclaims", "resourceclaims", "deviceclasses", "what quotas count"}, Writes: []string{"resourcequotas/status"},
		Docs: "concepts/policy/resource-quotas/",
		Concurrency: controller.Concurrency{Flag: "concurrent-resource-quota-syncs", What: "quotas", In: func(s *controller.Settings) *int32 {
			return &s.ResourceQuotaController.ConcurrentResourceQuotaSyncs
		}},
		Build: build,
	}
}

// Controller maintains the status of quotas. Its keys are quotas.
type Controller struct {
	clock    clock.Clock
	quotas   corelisters.ResourceQuotaLister
	pods     corelisters.PodLister
	services corelisters.ServiceLister
	claims   corelisters.PersistentVolumeClaimLister
	devices  resourcelisters.ResourceClaimLister
	registry quotav1.Registry
	live     live
	counted  *counted
	executor executor.Executor
}

func build(p *controller.Parts) error {
	resourceClaims := p.Informers.ResourceClaims()
	c := &Controller{
		clock: p.Clock, quotas: p.Informers.ResourceQuotas().Lister(), pods: p.Informers.Pods().Lister(),
		services: p.Informers.Services().Lister(), claims: p.Informers.PersistentVolumeClaims().Lister(), devices: resourceClaims.Lister(),
		executor: executor.Executor{
			Kind: corev1.SchemeGroupVersion.WithKind("ResourceQuota"), Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name),
		},
	}
	classes := p.Informers.DeviceClasses()
	backing := quota.Backing{Classes: c.all(classes.Lister()), Pod: c.pod, Claims: c.claimsIn}
	c.registry = quota.NewRegistry(c.list, p.Clock, backing)
	c.live = live{client: p.Client, clock: p.Clock, backing: backing}
	var err error
	if c.counted, err = newCounted(p.Config, p.Ledger); err != nil {
		return err
	}
	l := p.Loop(controller.Each(p.Informers.ResourceQuotas().Informer(), c.reconcile))
	l.Watch(p.Informers.ResourceQuotas().Informer(), wakeOutdated)
	l.Watch(p.Informers.Pods().Informer(), c.wakeForPod)
	l.Watch(p.Informers.Services().Informer(), c.wakeForService)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), c.wakeForClaim)
	l.Watch(resourceClaims.Informer(), c.wakeForResourceClaim)
	l.Watch(classes.Informer(), loop.None)
	p.Go(func(ctx context.Context) error {
		c.counted.run(ctx, func(gr schema.GroupResource, namespace string) {
			for _, key := range c.quotasFor(namespace, quota.Count(gr, nil)) {
				l.Add(key)
			}
		})
		return nil
	})
	return nil
}

// list returns the objects of the kinds whose usage is more than their number.
func (c *Controller) list(gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	switch gvr.Resource {
	case "pods":
		return asObjects(c.pods.Pods(namespace).List(labels.Everything()))
	case "services":
		return asObjects(c.services.Services(namespace).List(labels.Everything()))
	case "persistentvolumeclaims":
		return asObjects(c.claims.PersistentVolumeClaims(namespace).List(labels.Everything()))
	case "resourceclaims":
		return asObjects(c.devices.ResourceClaims(namespace).List(labels.Everything()))
	}
	return nil, fmt.Errorf("there is no informer of %v", gvr)
}

// The caches do not fail: their lists are complete.
func (c *Controller) all(classes resourcelisters.DeviceClassLister) func() []*resourcev1.DeviceClass {
	return func() []*resourcev1.DeviceClass {
		all, _ := classes.List(labels.Everything())
		return all
	}
}

func (c *Controller) claimsIn(namespace string) []*resourcev1.ResourceClaim {
	claims, _ := c.devices.ResourceClaims(namespace).List(labels.Everything())
	return claims
}

func (c *Controller) pod(namespace, name string) *corev1.Pod {
	pod, err := c.pods.Pods(namespace).Get(name)
	if err != nil {
		return nil // a cache has no other errors than NotFound
	}
	return pod
}

func asObjects[T runtime.Object](items []T, err error) ([]runtime.Object, error) {
	objects := make([]runtime.Object, len(items))
	for i, item := range items {
		objects[i] = item
	}
	return objects, err
}

// wakeOutdated enqueues a quota that is new or whose status does not show its limits.
func wakeOutdated(ev loop.Event) []types.NamespacedName {
	q, ok := ev.Object.(*corev1.ResourceQuota)
	if !ok || ev.Type == loop.Deleted {
		return nil
	}
	if ev.Type == loop.Updated && reflect.DeepEqual(q.Spec.Hard, q.Status.Hard) && complete(q) {
		return nil
	}
	return loop.Self(ev)
}

// complete reports whether the status has the usage of everything that is limited.
func complete(q *corev1.ResourceQuota) bool {
	for name := range q.Spec.Hard {
		if _, known := q.Status.Used[name]; !known {
			return false
		}
	}
	return true
}

// reconcile counts the usage of a quota's namespace.
func (c *Controller) reconcile(ctx context.Context, q *corev1.ResourceQuota) (loop.Result, error) {
	usage, usageErr := c.usage(ctx, q, c.registry, c.counted.stats)
	p := decide.Quota(decide.Snapshot{Quota: q, Usage: usage}, c.clock.Now())
	if p.Status != nil && quota.Lowers(p.Status.Used, q.Status.Used) {
		// The informers may not have all objects that the quota's version counts.
		usage, usageErr = c.usage(ctx, q, c.live.registry(ctx), c.counted.liveStats)
		p = decide.Quota(decide.Snapshot{Quota: q, Usage: usage}, c.clock.Now())
	}
	var err error
	if p.Status != nil {
		update := *q
		update.Status = *p.Status
		switch err = c.executor.WriteStatus(ctx, &update); {
		case apierrors.IsNotFound(err):
			err = nil
		case apierrors.IsConflict(err):
			// No event enqueues the quota. Conflicts are frequent while objects are created, so
			// that they must not add up to a long delay.
			return loop.Result{RequeueAfter: conflictRetry}, usageErr
		}
	}
	return loop.Result{RequeueAfter: p.RequeueAfter}, errors.Join(usageErr, err)
}

// usage counts the usage. With an error, it returns the usage of the resources that could be counted.
func (c *Controller) usage(ctx context.Context, q *corev1.ResourceQuota, registry quotav1.Registry, stats stats) (corev1.ResourceList, error) {
	var errs []error
	usage, err := quotav1.CalculateUsage(q.Namespace, q.Spec.Scopes, q.Spec.Hard, registry, q.Spec.ScopeSelector)
	if err != nil {
		errs = append(errs, fmt.Errorf("counting the use of ResourceQuota %s/%s: %w", q.Namespace, q.Name, err))
	}
	if usage == nil {
		usage = corev1.ResourceList{}
	}
	for name := range q.Spec.Hard {
		gr, ok := countedResource(name)
		if !ok || c.registry.Get(gr) != nil {
			continue
		}
		number, err := stats(ctx, gr, q, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if number != nil {
			usage[name] = *number
		}
	}
	return usage, errors.Join(errs...)
}
