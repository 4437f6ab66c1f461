package decide

import (
	"cmp"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// use holds the devices and the capacity of a pool that claims use.
type use struct {
	// devices are allocated, each once although claims may share it.
	devices map[string]bool
	// consumed is the capacity of shared devices that claims have.
	consumed quantities
}

type quantities map[resourcev1.QualifiedName]resource.Quantity

func (q quantities) add(name resourcev1.QualifiedName, value resource.Quantity) {
	sum := q[name].DeepCopy()
	sum.Add(value)
	q[name] = sum
}

// usesOf returns the use of each pool. Claims with admin access watch devices, and use none.
func usesOf(claims []*resourcev1.ResourceClaim) map[poolName]use {
	uses := map[poolName]use{}
	for _, claim := range inOrder(claims) {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if ptr.Deref(r.AdminAccess, false) {
				continue
			}
			name := poolName{r.Driver, r.Pool}
			u, ok := uses[name]
			if !ok {
				u = use{map[string]bool{}, quantities{}}
				uses[name] = u
			}
			u.devices[r.Device] = true
			for capacity, value := range r.ConsumedCapacity {
				u.consumed.add(capacity, value)
			}
		}
	}
	return uses
}

// inOrder returns claims by name, because the first quantity of a sum determines its format.
func inOrder(claims []*resourcev1.ResourceClaim) []*resourcev1.ResourceClaim {
	return slices.SortedFunc(slices.Values(claims), func(a, b *resourcev1.ResourceClaim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
