package inventory

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// Replace removes the devices of was, an allocation that was added before, and adds the devices of now; nil: none.
// Neither may be changed afterwards.
func (i *Inventory) Replace(was, now *resourcev1.AllocationResult) {
	i.change(was, func(id structured.DeviceID, r *resourcev1.DeviceRequestAllocationResult) {
		i.holders[id] = slices.DeleteFunc(i.holders[id], func(holder *resourcev1.DeviceRequestAllocationResult) bool { return holder == r })
	})
	i.change(now, func(id structured.DeviceID, r *resourcev1.DeviceRequestAllocationResult) {
		i.holders[id] = append(i.holders[id], r)
	})
}

// change calls of for the devices of an allocation, and counts them again. Those of an administrator's access stay
// free.
func (i *Inventory) change(allocation *resourcev1.AllocationResult, of func(structured.DeviceID, *resourcev1.DeviceRequestAllocationResult)) {
	if allocation == nil {
		return
	}
	for k := range allocation.Devices.Results {
		r := &allocation.Devices.Results[k]
		if ptr.Deref(r.AdminAccess, false) {
			continue
		}
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		of(id, r)
		i.count(id, r.ShareID)
		i.forgetPool(poolID{r.Driver, r.Pool})
	}
}

// count makes the state of a device, and of one share of it, follow from the results that have it.
func (i *Inventory) count(id structured.DeviceID, share *types.UID) {
	whole, shared := false, false
	delete(i.state.AggregatedCapacity, id)
	for _, r := range i.holders[id] {
		if r.ShareID == nil {
			whole = true
			continue
		}
		shared = shared || share != nil && *r.ShareID == *share
		if r.ConsumedCapacity != nil {
			i.state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
		}
	}
	if len(i.holders[id]) == 0 {
		delete(i.holders, id)
	}
	if whole {
		i.state.AllocatedDevices.Insert(id)
	} else {
		i.state.AllocatedDevices.Delete(id)
	}
	if share == nil {
		return
	}
	if part := structured.MakeSharedDeviceID(id, share); shared {
		i.state.AllocatedSharedDeviceIDs.Insert(part)
	} else {
		i.state.AllocatedSharedDeviceIDs.Delete(part)
	}
}
