package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/inventory"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// selectorCache is kube-scheduler's number of compiled selectors. noLimit stands for a search for
// devices without a limit.
const (
	selectorCache = 10
	noLimit       = time.Hour
)

const reasonSearchTimeout = "timed out trying to allocate devices"

// features are kube-scheduler's features that are on by default and concern allocations.
var features = structured.Features{
	AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
}

// devices tracks which devices are allocated. An allocation counts from the decision on:
//
//	decision on pod a    chooses device d for claim x: d is pending
//	decision on pod b    the informer shows x without an allocation; d is pending, so not chosen
//	task of pod a        writes x with d, and keeps x as written
//	decision on pod c    the informer still shows x without an allocation; x as written has d
//	informer             shows x with d
//
// It reads the informers' caches, never the API.
type devices struct {
	clock   clock.Clock
	logger  klog.Logger
	claims  resourcelisters.ResourceClaimLister
	slices  resourcelisters.ResourceSliceLister
	classes resourcelisters.DeviceClassLister
	rules   resourcelisters.DeviceTaintRuleLister
	// ofPods has the index of the claims for extended resources by their pods.
	ofPods cache.Indexer
	// backing finds the DeviceClass that backs a resource. It is the handler of the classes' events.
	backing *extendedresourcecache.ExtendedResourceCache
	// selectors compiles expressions. It is made for the first pod with resource claims.
	selectors func() *cel.Cache

	mu sync.Mutex
	// shown are the claims of the informer's events. Its cache may be ahead of them.
	shown map[types.UID]*resourcev1.ResourceClaim
	// written are the claims that were written, until an event shows them.
	written map[types.UID]*resourcev1.ResourceClaim
	// pending are the pods whose decisions have allocated claims, by the claims; an entry goes
	// when the claim is written. byPod has the pods that have a node and are not bound.
	pending map[types.UID]*deviceWait
	byPod   map[types.UID]*deviceWait
	// changed holds the changes that the inventory does not have yet.
	changed deviceChanges

	// inventory belongs to the deciding goroutine.
	inventory *inventory.Inventory

	bindings bindingWaits
}

// deviceWait is a pod with a node whose resource claims are not all reserved for it. The claim for its
// extended resources may not be created yet.
type deviceWait struct {
	claims []plugins.DeviceAllocation
	// writing is set while the claims are being written: they stay pending until that ends.
	writing bool
}

func newDevices(kinds informers.Kinds, c clock.Clock, logger klog.Logger) (*devices, error) {
	ofPods := kinds.ResourceClaims().Informer().GetIndexer()
	if err := indexExtendedClaims(ofPods); err != nil {
		return nil, err
	}
	d := &devices{
		ofPods: ofPods, backing: extendedresourcecache.NewExtendedResourceCache(logger),
		clock: c, logger: logger,
		claims: kinds.ResourceClaims().Lister(), slices: kinds.ResourceSlices().Lister(),
		classes: kinds.DeviceClasses().Lister(), rules: kinds.DeviceTaintRules().Lister(),
		selectors: sync.OnceValue(func() *cel.Cache {
			return cel.NewCache(selectorCache, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity})
		}),
		shown: map[types.UID]*resourcev1.ResourceClaim{}, written: map[types.UID]*resourcev1.ResourceClaim{},
		pending: map[types.UID]*deviceWait{}, byPod: map[types.UID]*deviceWait{},
		changed:  newDeviceChanges(),
		bindings: bindingWaits{byPod: map[types.UID]*bindingWait{}},
	}
	d.inventory = inventory.New(inventory.Config{Features: features, Classes: classLister{d.classes}, Selectors: d.selectors})
	return d, nil
}

// input returns the device inputs for the decision on a pod; nil: the pod uses no devices. limit is
// the machine's time that the search for devices may take, for all nodes together; 0: any. bindingTimeout
// comes from the pod's profile.
func (d *devices) input(p *framework.PodInfo, limit, bindingTimeout time.Duration) *plugins.Devices {
	backed := d.backed(p)
	if len(p.Pod.Spec.ResourceClaims) == 0 && backed == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	in := &plugins.Devices{
		Pending: d.isPending,
		HasClass: func(name string) bool {
			_, err := d.classes.Get(name)
			return err == nil
		},
		Published: func(snapshot *framework.Snapshot) framework.NodeSet { return d.upToDate().Published(snapshot) },
		Allocate:  d.search(cmp.Or(limit, noLimit)),
		Now:       d.clock.Now(), BindingTimeout: bindingTimeout,
	}
	var err error
	if in.Claims, err = d.claimsLocked(p.Pod); err != nil {
		in.Problem = err.Error()
	}
	if backed != nil {
		in.Extended = &plugins.Extended{Pod: p, Classes: backed, Count: d.counter(), Left: d.extendedLocked(p.Pod)}
	}
	return in
}

// ready reports whether a pod can use all its resource claims.
func (d *devices) ready(p *framework.PodInfo) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.claimsLocked(p.Pod)
	return err == nil
}

// uses reports whether a pod uses resource claims, or was allocated devices for its extended resources.
func (d *devices) uses(pod *corev1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byPod[pod.UID] != nil
}

// usesClaim reports whether a pod uses a resource claim.
func (d *devices) usesClaim(pod *corev1.Pod, claim types.NamespacedName) bool {
	if pod.Namespace != claim.Namespace {
		return false
	}
	for name := range resourceclaim.PodClaims(pod) {
		if name == claim.Name {
			return true
		}
	}
	return false
}

// claimsLocked returns the resource claims of a pod, or why it cannot use one of them.
func (d *devices) claimsLocked(pod *corev1.Pod) ([]*resourcev1.ResourceClaim, error) {
	claims := make([]*resourcev1.ResourceClaim, 0, len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		name, ofPod, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if name == nil {
			continue // the pod does not need the claim
		}
		claim := d.claimLocked(types.NamespacedName{Namespace: pod.Namespace, Name: *name})
		switch {
		case claim == nil:
			return nil, fmt.Errorf("could not find ResourceClaim %q", pod.Namespace+"/"+*name)
		case claim.DeletionTimestamp != nil:
			return nil, fmt.Errorf("resourceclaim %q is being deleted", claim.Name)
		}
		if ofPod {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims, nil
}

// claimLocked returns the newest known state of a claim; nil: it does not exist.
func (d *devices) claimLocked(key types.NamespacedName) *resourcev1.ResourceClaim {
	claim, err := d.claims.ResourceClaims(key.Namespace).Get(key.Name)
	if err == nil { // a cache has no other errors than NotFound
		return d.newestLocked(claim)
	}
	for _, created := range d.written {
		if keyOf(created) == key && d.shown[created.UID] == nil {
			return created
		}
	}
	return nil
}

// newestLocked returns a claim as it was written, if that is newer.
func (d *devices) newestLocked(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if written := d.written[claim.UID]; written != nil && versionOf(written) > versionOf(claim) {
		return written
	}
	return claim
}

func (d *devices) isPending(claim types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending[claim] != nil
}

// search returns a function that looks for devices, for one decision, among the devices published and not allocated
// at its first call.
func (d *devices) search(limit time.Duration) func(*corev1.Node, []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
	var known *inventory.Inventory
	var request inventory.Request
	var requested []*resourcev1.ResourceClaim
	left := limit
	return func(node *corev1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
		if known == nil {
			known = d.upToDate()
		}
		if !slices.Equal(claims, requested) {
			var err error
			if request, err = inventory.RequestOf(claims); err != nil {
				return nil, "", err
			}
			requested = claims
		}
		if results, why, ok := known.Known(request, node); ok {
			return results, why, nil
		}
		if left <= 0 {
			return nil, reasonSearchTimeout, nil
		}
		began := clock.Real().Now()
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), d.logger))
		timer := clock.Real().AfterFunc(left, cancel)
		results, err := known.Allocate(ctx, node, claims)
		timer.Stop()
		cancel()
		left -= clock.Real().Now().Sub(began)
		why := ""
		switch {
		case errors.Is(err, context.Canceled):
			return nil, reasonSearchTimeout, nil
		case errors.Is(err, structured.ErrFailedAllocationOnNode):
			why, results = err.Error(), nil
		case err != nil:
			return nil, "", err
		}
		known.Keep(request, node, results, why)
		return results, why, nil
	}
}

// classLister adapts a lister to the allocator's interface.
type classLister struct {
	resourcelisters.DeviceClassLister
}

func (l classLister) List() ([]*resourcev1.DeviceClass, error) {
	return l.DeviceClassLister.List(labels.Everything())
}
