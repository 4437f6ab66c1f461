package scheduler

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/inventory"
)

// maxDeviceChanges caps the changes of allocations kept between two decisions on pods with devices. With more, it is
// cheaper to count all allocations again.
const maxDeviceChanges = 8192

// deviceChanges holds the changes since the inventory was last updated.
type deviceChanges struct {
	// counted are the allocations that count, by claim.
	counted map[types.UID]*resourcev1.AllocationResult
	// allocations are the changes of counted. uncounted is set if they were more than maxDeviceChanges, and have
	// been dropped.
	allocations []allocationChange
	uncounted   bool
	// slices are the ResourceSlices that changed, by name; nil: deleted.
	slices         map[string]*resourcev1.ResourceSlice
	rules, classes bool
}

// allocationChange is one of a claim. Nil stands for no allocation.
type allocationChange struct{ was, now *resourcev1.AllocationResult }

func newDeviceChanges() deviceChanges {
	return deviceChanges{counted: map[types.UID]*resourcev1.AllocationResult{}, slices: map[string]*resourcev1.ResourceSlice{}}
}

// countLocked notes the allocation of a claim that counts now. It must be called after every change of the
// claim in shown, written or pending.
func (d *devices) countLocked(claim types.UID) {
	c := &d.changed
	was, now := c.counted[claim], d.allocationLocked(claim)
	switch {
	case was == now || was != nil && now != nil && sameDevices(was, now):
		return
	case now == nil:
		delete(c.counted, claim)
	default:
		c.counted[claim] = now
	}
	switch {
	case c.uncounted:
	case len(c.allocations) == maxDeviceChanges:
		c.allocations, c.uncounted = nil, true
	default:
		c.allocations = append(c.allocations, allocationChange{was, now})
	}
}

// allocationLocked returns the allocation of a claim that counts: a decision's allocation until it is written, then
// the written claim's until an event shows that claim, then the one that the events show; nil: none.
func (d *devices) allocationLocked(claim types.UID) *resourcev1.AllocationResult {
	if wait := d.pending[claim]; wait != nil {
		for i := range wait.claims {
			if a := &wait.claims[i]; a.Claim.UID == claim {
				return a.Result
			}
		}
	}
	if written := d.written[claim]; written != nil {
		return written.Status.Allocation
	}
	if shown := d.shown[claim]; shown != nil {
		return shown.Status.Allocation
	}
	return nil
}

// sameDevices reports whether two allocations take the same of the same devices.
func sameDevices(a, b *resourcev1.AllocationResult) bool {
	return slices.EqualFunc(a.Devices.Results, b.Devices.Results, func(a, b resourcev1.DeviceRequestAllocationResult) bool {
		return a.Driver == b.Driver && a.Pool == b.Pool && a.Device == b.Device && ptr.Equal(a.ShareID, b.ShareID) &&
			ptr.Deref(a.AdminAccess, false) == ptr.Deref(b.AdminAccess, false) &&
			(len(a.ConsumedCapacity)+len(b.ConsumedCapacity) == 0 || equality.Semantic.DeepEqual(a.ConsumedCapacity, b.ConsumedCapacity))
	})
}

// upToDate returns the inventory with all changes. Only the deciding goroutine may call it.
func (d *devices) upToDate() *inventory.Inventory {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, i := &d.changed, d.inventory
	if c.uncounted {
		all := make([]*resourcev1.AllocationResult, 0, len(c.counted))
		for _, allocation := range c.counted {
			all = append(all, allocation)
		}
		i.Reset(all)
	}
	for _, change := range c.allocations {
		i.Replace(change.was, change.now)
	}
	c.allocations, c.uncounted = nil, false
	for name, slice := range c.slices {
		i.SetSlice(name, slice)
	}
	clear(c.slices)
	if c.rules {
		rules, err := d.rules.List(labels.Everything())
		if err != nil {
			d.logger.Error(err, "Cannot list the DeviceTaintRules") // a cache has no errors
		}
		i.SetRules(rules)
	}
	if c.classes {
		i.ClassesChanged()
	}
	c.rules, c.classes = false, false
	return i
}

// setSlice notes a ResourceSlice that was published or, if gone is set, deleted.
func (d *devices) setSlice(slice *resourcev1.ResourceSlice, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed.slices[slice.Name] = slice
	if gone {
		d.changed.slices[slice.Name] = nil
	}
}

// setRules notes that DeviceTaintRules have changed.
func (d *devices) setRules() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed.rules = true
}

// setClasses notes that DeviceClasses have changed.
func (d *devices) setClasses() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed.classes = true
}
