package inventory

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	"minikcm.dev/minikcm/controllers/internal/devicetaints"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Config holds the dependencies of an Inventory, besides the devices.
type Config struct {
	Features structured.Features
	Classes  structured.DeviceClassLister
	// Selectors returns the cache of compiled expressions.
	Selectors func() *cel.Cache
}

// Inventory is the published devices and their allocations. It is not safe for concurrent use.
type Inventory struct {
	config Config
	rules  []*resourcev1.DeviceTaintRule
	// slices are the drivers' slices, by name. The other fields have them with the taints of the rules.
	slices map[string]*resourcev1.ResourceSlice
	// onNode are the slices that name a node, by the node, and shared the others, both sorted by name.
	onNode map[string][]*resourcev1.ResourceSlice
	shared []*resourcev1.ResourceSlice
	pools  map[poolID][]*resourcev1.ResourceSlice

	state structured.AllocatedState
	// holders are the results that have a device.
	holders map[structured.DeviceID][]*resourcev1.DeviceRequestAllocationResult

	found found

	// published is the set of the nodes of onNode in the snapshot of; nil: it is not known.
	published framework.NodeSet
	of        *framework.Snapshot
}

type poolID struct{ driver, name string }

func poolOf(slice *resourcev1.ResourceSlice) poolID {
	return poolID{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// New returns an Inventory without devices.
func New(config Config) *Inventory {
	i := &Inventory{config: config, slices: map[string]*resourcev1.ResourceSlice{}}
	i.publish()
	i.Reset(nil)
	return i
}

// Reset replaces all allocations.
func (i *Inventory) Reset(all []*resourcev1.AllocationResult) {
	i.state = structured.AllocatedState{
		AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}
	i.holders = map[structured.DeviceID][]*resourcev1.DeviceRequestAllocationResult{}
	i.found.clear()
	for _, allocation := range all {
		i.Replace(nil, allocation)
	}
}

// SetRules replaces the DeviceTaintRules.
func (i *Inventory) SetRules(rules []*resourcev1.DeviceTaintRule) {
	i.rules = rules
	slices.SortFunc(i.rules, func(a, b *resourcev1.DeviceTaintRule) int { return cmp.Compare(a.Name, b.Name) })
	i.publish()
}

// publish builds the fields that are derived from the slices and the rules.
func (i *Inventory) publish() {
	i.onNode, i.shared = map[string][]*resourcev1.ResourceSlice{}, nil
	i.pools = map[poolID][]*resourcev1.ResourceSlice{}
	i.found.clear()
	i.published = nil
	for _, slice := range i.slices {
		i.add(slice)
	}
}

// SetSlice replaces the slice of a name; nil: it is deleted.
func (i *Inventory) SetSlice(name string, slice *resourcev1.ResourceSlice) {
	if old := i.slices[name]; old != nil {
		i.forgetPool(poolOf(old))
		i.drop(old)
		delete(i.slices, name)
	}
	if slice != nil {
		i.slices[name] = slice
		i.add(slice)
		i.forgetPool(poolOf(slice))
	}
	i.published = nil
}

// add adds a slice, with its taints, to the lists that it belongs to.
func (i *Inventory) add(slice *resourcev1.ResourceSlice) {
	slice = devicetaints.Tainted([]*resourcev1.ResourceSlice{slice}, i.rules)[0]
	insert := func(list []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
		at, _ := find(list, slice.Name)
		return slices.Insert(list, at, slice)
	}
	if node := nodeOf(slice); node != "" {
		i.onNode[node] = insert(i.onNode[node])
	} else {
		i.shared = insert(i.shared)
	}
	i.pools[poolOf(slice)] = insert(i.pools[poolOf(slice)])
}

// drop removes a slice from the lists that it belongs to.
func (i *Inventory) drop(slice *resourcev1.ResourceSlice) {
	if node := nodeOf(slice); node != "" {
		remove(i.onNode, node, slice.Name)
	} else if at, ok := find(i.shared, slice.Name); ok {
		i.shared = slices.Delete(i.shared, at, at+1)
	}
	remove(i.pools, poolOf(slice), slice.Name)
}

func remove[K comparable](lists map[K][]*resourcev1.ResourceSlice, key K, name string) {
	if at, ok := find(lists[key], name); ok {
		lists[key] = slices.Delete(lists[key], at, at+1)
	}
	if len(lists[key]) == 0 {
		delete(lists, key)
	}
}

func find(list []*resourcev1.ResourceSlice, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(s *resourcev1.ResourceSlice, name string) int { return cmp.Compare(s.Name, name) })
}

// nodeOf returns the node that a slice names; "": none.
func nodeOf(slice *resourcev1.ResourceSlice) string {
	if slice.Spec.NodeName == nil {
		return ""
	}
	return *slice.Spec.NodeName
}

// On returns the slices that may have devices for a node, with their taints: the slices of the node, and
// the slices that name none.
func (i *Inventory) On(node string) []*resourcev1.ResourceSlice {
	return slices.Concat(i.onNode[node], i.shared)
}

// Published returns the nodes of a snapshot that slices name; nil: some slices name no node.
func (i *Inventory) Published(snapshot *framework.Snapshot) framework.NodeSet {
	if len(i.shared) > 0 {
		return nil
	}
	if i.published == nil || i.of != snapshot {
		i.published, i.of = framework.NewNodeSet(snapshot.Len()), snapshot
		for node := range i.onNode {
			if index, ok := snapshot.Index(node); ok {
				i.published.Add(index)
			}
		}
	}
	return i.published
}

// IsAllocated reports whether a device, or a part of it, is allocated.
func (i *Inventory) IsAllocated(driver, pool, device string) bool {
	return structured.IsDeviceAllocated(structured.MakeDeviceID(driver, pool, device), &i.state)
}

// Allocate looks for devices for claims on a node. It returns the structured allocator's errors.
func (i *Inventory) Allocate(ctx context.Context, node *corev1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, error) {
	// An allocator keeps its counts of a pool, and allocations change them: each search has its own
	// allocator.
	allocator, err := structured.NewAllocator(ctx, i.config.Features, i.state, i.config.Classes, i.visible(node.Name), i.config.Selectors())
	if err != nil {
		return nil, err
	}
	return allocator.Allocate(ctx, node, claims)
}

// visible returns the slices that a search on a node depends on: the slices that On returns, and all others of their
// pools, which decide whether a pool is complete.
func (i *Inventory) visible(node string) []*resourcev1.ResourceSlice {
	var all []*resourcev1.ResourceSlice
	seen := map[poolID]bool{}
	for _, list := range [][]*resourcev1.ResourceSlice{i.onNode[node], i.shared} {
		for _, slice := range list {
			if id := poolOf(slice); !seen[id] {
				seen[id] = true
				all = append(all, i.pools[id]...)
			}
		}
	}
	return all
}
