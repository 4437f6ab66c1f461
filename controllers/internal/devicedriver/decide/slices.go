package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Plan holds the writes to make, in the order of its fields.
type Plan struct {
	Delete, Update, Create []*resourcev1.ResourceSlice
}

// Slices returns the writes after which a node has the slices of its drivers. existing are
// the node's slices that were made from its annotation. A pool whose slices change gets the next
// generation, so that a reader knows when it has all of them.
func Slices(node *corev1.Node, drivers []Driver, existing []*resourcev1.ResourceSlice) Plan {
	var p Plan
	kept := map[string]bool{}
	for i := range drivers {
		wanted := slicesOf(node, &drivers[i])
		var have []*resourcev1.ResourceSlice
		for _, slice := range existing {
			if slice.Spec.Driver == drivers[i].Name {
				have = append(have, slice)
			}
		}
		p.add(wanted, have)
		for _, slice := range wanted {
			kept[slice.Name] = true
		}
	}
	for _, slice := range existing {
		if !kept[slice.Name] {
			p.Delete = append(p.Delete, slice)
		}
	}
	return p
}

// add adds the writes for one pool. Slices of an earlier Node of the same name are
// deleted first: the event of their deletion leads to the next plan.
func (p *Plan) add(wanted, have []*resourcev1.ResourceSlice) {
	byName := map[string]*resourcev1.ResourceSlice{}
	var generation int64
	for _, slice := range have {
		byName[slice.Name] = slice
		generation = max(generation, slice.Spec.Pool.Generation)
	}
	same := len(have) == len(wanted)
	for _, slice := range wanted {
		slice.Spec.Pool.Generation = generation
		old := byName[slice.Name]
		same = same && old != nil && equality.Semantic.DeepEqual(old.Spec, slice.Spec) && sameOwner(old, slice)
	}
	if same {
		return
	}
	for _, slice := range wanted {
		slice.Spec.Pool.Generation = generation + 1
		switch old := byName[slice.Name]; {
		case old == nil:
			p.Create = append(p.Create, slice)
		case !sameOwner(old, slice):
			p.Delete = append(p.Delete, old)
		default:
			changed := old.DeepCopy()
			changed.Spec = slice.Spec
			p.Update = append(p.Update, changed)
		}
	}
}

func sameOwner(a, b *resourcev1.ResourceSlice) bool {
	return len(a.OwnerReferences) == 1 && a.OwnerReferences[0].UID == b.OwnerReferences[0].UID
}

// slicesOf returns the slices of a driver on a node, without a generation.
func slicesOf(node *corev1.Node, d *Driver) []*resourcev1.ResourceSlice {
	count := (d.Count + resourcev1.ResourceSliceMaxDevices - 1) / resourcev1.ResourceSliceMaxDevices
	all := make([]*resourcev1.ResourceSlice, count)
	for i := range all {
		all[i] = &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s-%d", node.Name, d.Name, i), Annotations: map[string]string{Annotation: "simulated"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))},
			},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: d.Name, NodeName: &node.Name,
				Pool: resourcev1.ResourcePool{Name: node.Name, ResourceSliceCount: int64(count)},
			},
		}
		for index := i * resourcev1.ResourceSliceMaxDevices; index < min(d.Count, (i+1)*resourcev1.ResourceSliceMaxDevices); index++ {
			all[i].Spec.Devices = append(all[i].Spec.Devices, d.device(index))
		}
	}
	return all
}

// Simulated reports whether a slice was made from a node's annotation.
func Simulated(slice *resourcev1.ResourceSlice) bool { return slice.Annotations[Annotation] != "" }

// Missing returns the DeviceClasses of drivers that do not exist: each selects the devices of one
// driver and has its name.
func Missing(drivers []Driver, exists func(class string) bool) []*resourcev1.DeviceClass {
	var missing []*resourcev1.DeviceClass
	for i := range drivers {
		if name := drivers[i].Name; !exists(name) {
			missing = append(missing, &resourcev1.DeviceClass{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
					CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", name)},
				}}},
			})
		}
	}
	return missing
}
