package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/inventory"
)

// deviceCount is how many devices of a class a node can use, and how many of them are allocated.
type deviceCount struct{ all, allocated int64 }

// counter returns a function that counts devices, for the scores of one decision. What is allocated and published
// is read when it is first called.
func (d *devices) counter() func(node *corev1.Node, class string) (all, allocated int64) {
	type key struct{ node, class string }
	known := map[key]deviceCount{}
	var published *inventory.Inventory
	return func(node *corev1.Node, class string) (all, allocated int64) {
		if published == nil {
			published = d.upToDate()
		}
		at := key{node.Name, class}
		if _, counted := known[at]; !counted {
			count, err := d.countDevices(node, class, published)
			if err != nil { // of the class: as in kube-scheduler, its devices do not count
				d.logger.Error(err, "Cannot count devices", "node", klog.KObj(node), "class", class)
			}
			known[at] = count
		}
		return known[at].all, known[at].allocated
	}
}

func (d *devices) countDevices(node *corev1.Node, class string, published *inventory.Inventory) (deviceCount, error) {
	var count deviceCount
	of, err := d.classes.Get(class)
	if err != nil {
		return count, err
	}
	for _, slice := range published.On(node.Name) {
		devices, err := usableOn(node, &slice.Spec)
		if err != nil {
			return deviceCount{}, err
		}
		for i := range devices {
			matches, err := d.selects(of, slice.Spec.Driver, &devices[i])
			if err != nil {
				return deviceCount{}, err
			}
			if !matches {
				continue
			}
			count.all++
			if published.IsAllocated(slice.Spec.Driver, slice.Spec.Pool.Name, devices[i].Name) {
				count.allocated++
			}
		}
	}
	return count, nil
}

// usableOn returns the devices of a slice that a node can use.
func usableOn(node *corev1.Node, slice *resourcev1.ResourceSliceSpec) ([]resourcev1.Device, error) {
	if !ptr.Deref(slice.PerDeviceNodeSelection, false) {
		matches, err := structured.NodeMatches(features, node, ptr.Deref(slice.NodeName, ""), ptr.Deref(slice.AllNodes, false), slice.NodeSelector)
		if err != nil || !matches {
			return nil, err
		}
		return slice.Devices, nil
	}
	var usable []resourcev1.Device
	for _, device := range slice.Devices {
		matches, err := structured.NodeMatches(features, node, ptr.Deref(device.NodeName, ""), ptr.Deref(device.AllNodes, false), device.NodeSelector)
		if err != nil {
			return nil, err
		}
		if matches {
			usable = append(usable, device)
		}
	}
	return usable, nil
}

// selects reports whether all selectors of a class match a device.
func (d *devices) selects(class *resourcev1.DeviceClass, driver string, device *resourcev1.Device) (bool, error) {
	for _, selector := range class.Spec.Selectors {
		if selector.CEL == nil {
			continue
		}
		compiled := d.selectors().GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			return false, compiled.Error
		}
		matches, _, err := compiled.DeviceMatches(klog.NewContext(context.Background(), d.logger), cel.Device{
			Driver: driver, Attributes: device.Attributes, Capacity: device.Capacity,
		})
		if err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}
