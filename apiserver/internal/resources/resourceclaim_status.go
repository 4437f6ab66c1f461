package resources

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// dropDeallocated removes the status of devices that are no longer allocated to the
// claim.
func dropDeallocated(c, old *resourcev1.ResourceClaim) {
	if old.Status.Allocation == nil {
		return
	}
	has := func(a *resourcev1.AllocationResult, d *resourcev1.AllocatedDeviceStatus) bool {
		return a != nil && slices.ContainsFunc(a.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
			return validation.DeviceKey(r.Driver, r.Pool, r.Device, (*string)(r.ShareID)) == validation.DeviceKey(d.Driver, d.Pool, d.Device, d.ShareID)
		})
	}
	c.Status.Devices = slices.DeleteFunc(c.Status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		return has(old.Status.Allocation, &d) && !has(c.Status.Allocation, &d)
	})
}
