package plugins

import (
	"errors"
	"fmt"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// The reasons why a pod is not bound to the node of its devices, in kube-scheduler's words.
var (
	ErrDeviceTimeout = errors.New("device binding timeout")
	ErrDeviceFailed  = errors.New("device binding failed")
)

// HasBindingConditions reports whether a pod with this claim is bound only after conditions of the
// allocated devices have become true (KEP-5007).
func HasBindingConditions(claim *resourcev1.ResourceClaim) bool {
	return claim.Status.Allocation != nil && slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
		return len(r.BindingConditions) > 0
	})
}

// DevicesReady reports whether all binding conditions of a claim's devices are true. An error is one of the
// binding failure conditions that is true.
func DevicesReady(claim *resourcev1.ResourceClaim) (bool, error) {
	if claim.Status.Allocation == nil {
		return false, nil
	}
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		if len(result.BindingConditions) == 0 {
			continue
		}
		at := slices.IndexFunc(claim.Status.Devices, func(s resourcev1.AllocatedDeviceStatus) bool {
			return s.Driver == result.Driver && s.Pool == result.Pool && s.Device == result.Device
		})
		if at < 0 {
			return false, nil
		}
		conditions := claim.Status.Devices[at].Conditions
		for _, name := range result.BindingFailureConditions {
			if meta.IsStatusConditionTrue(conditions, name) {
				failed := meta.FindStatusCondition(conditions, name)
				return false, fmt.Errorf("%w: claim=%s, reason=%s, message=%q", ErrDeviceFailed, claim.Name, failed.Reason, failed.Message)
			}
		}
		for _, name := range result.BindingConditions {
			if !meta.IsStatusConditionTrue(conditions, name) {
				return false, nil
			}
		}
	}
	return true, nil
}

// DevicesDeadline returns the last moment at which the binding conditions of a claim may become true;
// ok is false if there is none.
func DevicesDeadline(claim *resourcev1.ResourceClaim, timeout time.Duration) (deadline time.Time, ok bool) {
	if !HasBindingConditions(claim) || claim.Status.Allocation.AllocationTimestamp == nil {
		return time.Time{}, false
	}
	return claim.Status.Allocation.AllocationTimestamp.Add(timeout), true
}

// broken reports whether the devices of an allocated claim have failed, or were not ready in time.
func (d *Devices) broken(claim *resourcev1.ResourceClaim) bool {
	ready, err := DevicesReady(claim)
	if ready || err != nil {
		return err != nil
	}
	deadline, ok := DevicesDeadline(claim, d.BindingTimeout)
	return ok && deadline.Before(d.Now)
}
