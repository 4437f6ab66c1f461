package devicetainteviction

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/devicetainteviction/decide"
	"minikcm.dev/minikcm/controllers/internal/devicetaints"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/disruption"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and the source of its events.
const Name = "device-taint-eviction-controller"

const slicesByPool = "minikcm.dev/slices-by-pool"

// deletion is the note in the status of an evicted pod.
var deletion = disruption.Note{Reason: "DeletionByDeviceTaintManager", Message: "Device Taint manager: deleting due to NoExecute taint"}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 10, Account: "device-taint-eviction-controller",
		About:   "evicts pods that use devices whose taints they do not tolerate",
		Watches: []string{"pods", "resourceclaims", "resourceslices", "devicetaintrules"}, Writes: []string{"pods", "pods/status"},
		Docs: "concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations",
		Concurrency: controller.Concurrency{Flag: "concurrent-device-taint-eviction-syncs", What: "pods", In: func(s *controller.Settings) *int32 {
			return &s.DeviceTaintEvictionController.ConcurrentSyncs
		}},
		Build: build,
	}
}

// Controller evicts pods, and says so in the status of DeviceTaintRules. The keys of its loops are pods and rules.
type Controller struct {
	clock    clock.Clock
	client   kubernetes.Interface
	recorder record.EventRecorder
	pods     corelisters.PodLister
	claims   resourcelisters.ResourceClaimLister
	rules    resourcelisters.DeviceTaintRuleLister
	slices   cache.Indexer
	statuses loop.Loop

	mu      sync.Mutex
	pending map[types.NamespacedName]eviction
	// evicted is how many pods were evicted because of a rule.
	evicted map[types.UID]int
}

// eviction tracks the eviction of one pod. done is set once the pod has been deleted, until the cache shows
// it.
type eviction struct {
	pod  types.UID
	done bool
}

func build(p *controller.Parts) error {
	pods := p.Informers.Pods()
	published := p.Informers.ResourceSlices().Informer()
	c := &Controller{
		clock: p.Clock, client: p.Client, recorder: p.Recorder.For(p.Name), pods: pods.Lister(), claims: p.Informers.ResourceClaims().Lister(),
		rules: p.Informers.DeviceTaintRules().Lister(), slices: published.GetIndexer(), pending: map[types.NamespacedName]eviction{}, evicted: map[types.UID]int{},
	}
	if _, has := c.slices.GetIndexers()[slicesByPool]; !has {
		if err := c.slices.AddIndexers(cache.Indexers{slicesByPool: indexSlice}); err != nil {
			return fmt.Errorf("indexing ResourceSlices by their pools: %w", err)
		}
	}
	l := p.Loop(c)
	l.Watch(pods.Informer(), c.onPod)
	l.Watch(p.Informers.ResourceClaims().Informer(), onClaim)
	l.Watch(published, c.onSlice)
	l.Watch(p.Informers.DeviceTaintRules().Informer(), c.onRule)
	c.statuses = p.Beside("-rules", 1, controller.Each(p.Informers.DeviceTaintRules().Informer(), c.reconcileRule))
	c.statuses.Watch(p.Informers.DeviceTaintRules().Informer(), ofSpec, c.observeRule)
	return nil
}

func indexSlice(obj any) ([]string, error) {
	if slice, ok := obj.(*resourcev1.ResourceSlice); ok {
		return []string{slice.Spec.Driver + "/" + slice.Spec.Pool.Name}, nil
	}
	return nil, nil
}

// onPod wakes a pod with claims that was bound to a node, or whose status now names its claims.
func (c *Controller) onPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Pod); ok && old.UID == pod.UID && old.Spec.NodeName == pod.Spec.NodeName &&
		resourceclaim.PodStatusEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses) &&
		resourceclaim.PodExtendedStatusEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus) {
		return nil
	}
	return loop.Self(ev)
}

// onClaim wakes the pods that a claim is, or was, reserved for.
func onClaim(ev loop.Event) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, o := range []metav1.Object{ev.Object, ev.Old} {
		if claim, ok := o.(*resourcev1.ResourceClaim); ok {
			keys = append(keys, consumers(claim)...)
		}
	}
	return keys
}

func consumers(claim *resourcev1.ResourceClaim) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.APIGroup == "" && consumer.Resource == "pods" {
			keys = append(keys, types.NamespacedName{Namespace: claim.Namespace, Name: consumer.Name})
		}
	}
	return keys
}

// onSlice wakes the users of the pool of a slice that has, or had, taints.
func (c *Controller) onSlice(ev loop.Event) []types.NamespacedName {
	slice, ok := ev.Object.(*resourcev1.ResourceSlice)
	old, _ := ev.Old.(*resourcev1.ResourceSlice)
	if !ok || !tainted(slice) && (old == nil || !tainted(old)) {
		return nil
	}
	return c.users(func(r *resourcev1.DeviceRequestAllocationResult) bool {
		return r.Driver == slice.Spec.Driver && r.Pool == slice.Spec.Pool.Name
	})
}

func tainted(slice *resourcev1.ResourceSlice) bool {
	for i := range slice.Spec.Devices {
		if len(slice.Spec.Devices[i].Taints) > 0 {
			return true
		}
	}
	return false
}

// onRule wakes the users of all devices: a rule is rare.
func (c *Controller) onRule(ev loop.Event) []types.NamespacedName {
	rule, ok := ev.Object.(*resourcev1.DeviceTaintRule)
	if old, was := ev.Old.(*resourcev1.DeviceTaintRule); !ok || was && old.Generation == rule.Generation {
		return nil
	}
	return c.users(func(*resourcev1.DeviceRequestAllocationResult) bool { return true })
}

// users returns the pods that claims with such a device are reserved for.
func (c *Controller) users(of func(r *resourcev1.DeviceRequestAllocationResult) bool) []types.NamespacedName {
	claims, err := c.claims.List(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			if of(&claim.Status.Allocation.Devices.Results[i]) {
				keys = append(keys, consumers(claim)...)
				break
			}
		}
	}
	return keys
}

// Reconcile evicts a pod whose time has come.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || c.get(key) == (eviction{pod.UID, true}) {
		return loop.Result{}, nil
	}
	now := c.clock.Now()
	due, rules, err := c.due(pod, now)
	switch {
	case err != nil:
		return loop.Result{}, err
	case due.IsZero():
		if c.forget(key) {
			c.report(pod, "Cancelling deletion")
		}
		return loop.Result{}, nil
	}
	c.set(key, eviction{pod: pod.UID})
	c.showLater(rules)
	if due.After(now) {
		return loop.Result{RequeueAfter: due.Sub(now)}, nil
	}
	if err := c.evict(ctx, key, pod); err != nil {
		return loop.Result{}, err
	}
	c.count(rules)
	return loop.Result{}, nil
}

func (c *Controller) get(key types.NamespacedName) eviction {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[key]
}

func (c *Controller) set(key types.NamespacedName, e eviction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[key] = e
}

// forget removes a pod from the pending ones. It reports whether it was one.
func (c *Controller) forget(key types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, was := c.pending[key]
	delete(c.pending, key)
	return was
}

// due returns the time at which a pod is evicted, and the rules that cause it; zero: never.
func (c *Controller) due(pod *corev1.Pod, now time.Time) (time.Time, []*resourcev1.DeviceTaintRule, error) {
	all, err := c.rules.List(labels.Everything())
	if err != nil {
		return time.Time{}, nil, fmt.Errorf("listing DeviceTaintRules: %w", err)
	}
	slices.SortFunc(all, func(a, b *resourcev1.DeviceTaintRule) int { return cmp.Compare(a.Name, b.Name) })
	var devices []decide.Device
	var because []*resourcev1.DeviceTaintRule
	c.eachDevice(pod, func(r *resourcev1.DeviceRequestAllocationResult) {
		taints := slices.Clone(c.published(r))
		for _, rule := range all {
			if !devicetaints.Selects(rule, r.Driver, r.Pool, r.Device) {
				continue
			}
			taints = append(taints, rule.Spec.Taint)
			if decide.Evicts(&rule.Spec.Taint, r.Tolerations) && !slices.Contains(because, rule) {
				because = append(because, rule)
			}
		}
		devices = append(devices, decide.Device{Tolerations: r.Tolerations, Taints: taints})
	})
	return decide.Due(devices, now), because, nil
}

// eachDevice calls do for each device that is allocated for a pod.
func (c *Controller) eachDevice(pod *corev1.Pod, do func(r *resourcev1.DeviceRequestAllocationResult)) {
	for name, ofPod := range resourceclaim.PodClaims(pod) {
		claim, err := c.claims.ResourceClaims(pod.Namespace).Get(name)
		if err != nil || claim.Status.Allocation == nil || ofPod && resourceclaim.IsForPod(pod, claim, false) != nil || !resourceclaim.IsReservedForPod(pod, claim, false) {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			do(&claim.Status.Allocation.Devices.Results[i])
		}
	}
}

// published returns the taints that the slices of an allocated device give it.
func (c *Controller) published(r *resourcev1.DeviceRequestAllocationResult) []resourcev1.DeviceTaint {
	objects, _ := c.slices.ByIndex(slicesByPool, r.Driver+"/"+r.Pool) // fails only without the index
	for _, obj := range objects {
		slice, ok := obj.(*resourcev1.ResourceSlice)
		if !ok {
			continue
		}
		for i := range slice.Spec.Devices {
			if slice.Spec.Devices[i].Name == r.Device {
				return slice.Spec.Devices[i].Taints
			}
		}
	}
	return nil
}

// evict deletes a pod.
func (c *Controller) evict(ctx context.Context, key types.NamespacedName, pod *corev1.Pod) error {
	c.report(pod, "Marking for deletion")
	if err := disruption.Mark(ctx, c.client, pod, deletion, c.clock.Now()); err != nil {
		return err
	}
	if err := executor.DeleteSame(ctx, c.client.CoreV1().Pods(key.Namespace).Delete, pod); err != nil {
		return fmt.Errorf("deleting pod %s: %w", key, err)
	}
	c.set(key, eviction{pod.UID, true})
	// The event of the pod's end may have come before.
	if _, err := c.pods.Pods(key.Namespace).Get(key.Name); apierrors.IsNotFound(err) {
		c.forget(key)
	}
	return nil
}

func (c *Controller) report(pod *corev1.Pod, what string) {
	c.recorder.Event(pod, corev1.EventTypeNormal, "DeviceTaintManagerEviction", what)
}
