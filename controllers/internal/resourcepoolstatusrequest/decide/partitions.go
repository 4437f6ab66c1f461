package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/partitiontype"
)

// maxSummaries is the size of the lists of a summary in the API.
const maxSummaries = 32

// partitionType identifies the partitions with the same value of an attribute.
type partitionType struct{ attribute, value string }

// partitions are the devices of one type.
type partitions struct {
	total int32
	// cost is the consumption of counters by each device.
	cost []resourcev1.DeviceCounterConsumption
	free []*resourcev1.Device
}

// partitions counts the partitions of a pool by their types: how many there are, and how many of them could be
// allocated if no other type was. It returns a problem if the slices do not say it.
func (p *pool) partitions(u use, attribute *string) (_ []resourcev1alpha3.PartitionTypeStatus, problem string) {
	declared := slices.ContainsFunc(p.slices, func(s *resourcev1.ResourceSlice) bool {
		return s.Spec.PartitionTypeAttribute != nil && len(s.Spec.Devices) > 0
	})
	if declared {
		attribute = nil // the request's attribute applies only to pools that declare none
	}
	devices := slices.ContainsFunc(p.slices, func(s *resourcev1.ResourceSlice) bool { return len(s.Spec.Devices) > 0 })
	counters := slices.ContainsFunc(p.slices, func(s *resourcev1.ResourceSlice) bool { return len(s.Spec.SharedCounters) > 0 })
	switch {
	case !declared && (attribute == nil || !devices):
		return nil, ""
	case !counters:
		return nil, fmt.Sprintf("PartitionTypeMissing: pool %s declares partitionTypeAttribute but publishes no sharedCounters", p.name)
	}
	types, problem := p.byType(u, attribute)
	if problem != "" {
		return nil, problem
	}
	free := p.freeCounters(u)
	summary := []resourcev1alpha3.PartitionTypeStatus{}
	for t, d := range types {
		summary = append(summary, resourcev1alpha3.PartitionTypeStatus{Attribute: t.attribute, Type: t.value, Total: ptr.To(d.total), Allocatable: ptr.To(d.fitting(free.clone()))})
	}
	slices.SortFunc(summary, func(a, b resourcev1alpha3.PartitionTypeStatus) int {
		return cmp.Or(cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Type, b.Type))
	})
	if n := len(summary); n > maxSummaries {
		return nil, fmt.Sprintf("PartitionSummaryOverCap: pool %s has %d partition types, exceeding the maximum of %d", p.name, n, maxSummaries)
	}
	return summary, ""
}

// byType returns the devices that consume counters by their types.
func (p *pool) byType(u use, attribute *string) (_ map[partitionType]*partitions, problem string) {
	types := map[partitionType]*partitions{}
	for _, s := range p.slices {
		name := ptr.Deref((*string)(s.Spec.PartitionTypeAttribute), ptr.Deref(attribute, ""))
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			if len(d.ConsumesCounters) == 0 || name == "" {
				continue
			}
			value := partitiontype.Attribute(s.Spec.Driver, d.Attributes, name)
			if value == nil || value.StringValue == nil {
				return nil, fmt.Sprintf("PartitionTypeMissing: device %q in pool %s does not carry partition type attribute %q", d.Name, p.name, name)
			}
			t := partitionType{name, *value.StringValue}
			of := types[t]
			if of == nil {
				of = &partitions{cost: d.ConsumesCounters}
				types[t] = of
			}
			if costText(d.ConsumesCounters) != costText(of.cost) {
				return nil, fmt.Sprintf("PartitionCostMismatch: devices of partition type %q in pool %s consume different counters", t.value, p.name)
			}
			of.total++
			if !u.devices[d.Name] {
				of.free = append(of.free, d)
			}
		}
	}
	return types, ""
}

// fitting returns how many free partitions the counters suffice for, which it consumes.
func (d *partitions) fitting(free counters) (n int32) {
	for _, device := range d.free {
		if !free.suffice(device.ConsumesCounters) {
			return n // they all cost the same
		}
		free.consume(device.ConsumesCounters)
		n++
	}
	return n
}

// costText is equal for equal costs.
func costText(cost []resourcev1.DeviceCounterConsumption) string {
	var parts []string
	for _, c := range cost {
		for name, counter := range c.Counters {
			parts = append(parts, c.CounterSet+"/"+name+"="+counter.Value.String())
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// counters are the values of a pool's counters.
type counters map[counterName]resource.Quantity

type counterName struct{ set, counter string }

func (c counters) clone() counters {
	copied := maps.Clone(c)
	for name, value := range copied {
		copied[name] = value.DeepCopy()
	}
	return copied
}

// freeCounters returns the counters less the consumption of allocated devices, each of which counts once.
func (p *pool) freeCounters(u use) counters {
	free := counters{}
	for _, s := range p.slices {
		for _, set := range s.Spec.SharedCounters {
			for name, counter := range set.Counters {
				free[counterName{set.Name, name}] = counter.Value.DeepCopy()
			}
		}
	}
	for _, s := range p.slices {
		for i := range s.Spec.Devices {
			if d := &s.Spec.Devices[i]; u.devices[d.Name] {
				free.consume(d.ConsumesCounters)
			}
		}
	}
	return free
}

func (c counters) suffice(cost []resourcev1.DeviceCounterConsumption) bool {
	for _, of := range cost {
		for name, counter := range of.Counters {
			if left, ok := c[counterName{of.CounterSet, name}]; !ok || left.Cmp(counter.Value) < 0 {
				return false
			}
		}
	}
	return true
}

func (c counters) consume(cost []resourcev1.DeviceCounterConsumption) {
	for _, of := range cost {
		for name, counter := range of.Counters {
			if left, ok := c[counterName{of.CounterSet, name}]; ok {
				left.Sub(counter.Value)
				c[counterName{of.CounterSet, name}] = left
			}
		}
	}
}
