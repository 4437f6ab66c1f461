package decide

import (
	"fmt"
	"maps"
	"slices"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// shareable returns the summed capacity of the devices that several claims can share (KEP-5075); nil: the pool has no
// such device. A problem takes the place of a summary with more than maxSummaries capacities.
func (p *pool) shareable(u use) (_ *resourcev1alpha3.ShareableSummaryStatus, problem string) {
	var full, partly int32
	totals := quantities{}
	for _, s := range p.slices {
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			if !ptr.Deref(d.AllowMultipleAllocations, false) {
				continue
			}
			if u.devices[d.Name] {
				partly++
			} else {
				full++
			}
			for name, capacity := range d.Capacity {
				totals.add(name, capacity.Value)
			}
		}
	}
	if full+partly == 0 {
		return nil, ""
	}
	if n := len(totals); n > maxSummaries {
		return nil, fmt.Sprintf("ShareableSummaryOverCap: pool %s has %d shareable capacity keys, exceeding the maximum of %d", p.name, n, maxSummaries)
	}
	summary := &resourcev1alpha3.ShareableSummaryStatus{FullyAvailableDevices: &full, PartiallyAvailableDevices: &partly}
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		total, consumed := totals[name], u.consumed[name].DeepCopy()
		available := total.DeepCopy()
		if available.Sub(consumed); available.Sign() < 0 {
			available = *resource.NewQuantity(0, total.Format)
		}
		summary.Capacity = append(summary.Capacity, resourcev1alpha3.ShareableCapacityStatus{Name: string(name), Total: &total, Consumed: &consumed, Available: &available})
	}
	return summary, ""
}
