package devicetaints

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// Tainted returns slices with the taints of DeviceTaintRules added to the devices that the rules
// select. Slices that no rule selects are returned as they are.
func Tainted(all []*resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) []*resourcev1.ResourceSlice {
	if len(rules) == 0 {
		return all
	}
	tainted := slices.Clone(all)
	for i, slice := range all {
		for _, rule := range rules {
			tainted[i] = taint(slice, tainted[i], rule)
		}
	}
	return tainted
}

// taint adds a rule's taint to the devices of a slice. It copies the slice if it is the original.
func taint(original, slice *resourcev1.ResourceSlice, rule *resourcev1.DeviceTaintRule) *resourcev1.ResourceSlice {
	for i := range slice.Spec.Devices {
		if !Selects(rule, slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name) {
			continue
		}
		if slice == original {
			slice = original.DeepCopy()
		}
		slice.Spec.Devices[i].Taints = append(slice.Spec.Devices[i].Taints, rule.Spec.Taint)
	}
	return slice
}

// Selects reports whether a rule selects a device.
func Selects(rule *resourcev1.DeviceTaintRule, driver, pool, device string) bool {
	selector := rule.Spec.DeviceSelector
	return selector != nil && selects(selector.Driver, driver) && selects(selector.Pool, pool) && selects(selector.Device, device)
}

func selects(wanted *string, name string) bool { return wanted == nil || *wanted == name }
