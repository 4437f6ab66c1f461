package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/partitiontype"
)

func ResourceSlice(s *resourcev1.ResourceSlice) field.ErrorList {
	spec, p := &s.Spec, field.NewPath("spec")
	errs := validateDriverName(p.Child("driver"), spec.Driver)
	errs = append(errs, validatePool(p.Child("pool"), &spec.Pool)...)
	errs = append(errs, validateSliceNodes(p, spec)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(p, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	errs = append(errs, setOf(p.Child("devices"), spec.Devices, mostDevices(spec.Devices),
		func(d *resourcev1.Device) string { return d.Name },
		func(p *field.Path, d *resourcev1.Device) field.ErrorList {
			return validateDevice(p, d, deref(spec.PerDeviceNodeSelection))
		})...)
	errs = append(errs, partitionType(p, spec)...)
	return append(errs, setOf(p.Child("sharedCounters"), spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets,
		func(c *resourcev1.CounterSet) string { return c.Name },
		func(p *field.Path, c *resourcev1.CounterSet) field.ErrorList {
			errs := requiredOr(p.Child("name"), c.Name, isDNSLabel)
			return append(errs, validateCounters(p.Child("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet)...)
		})...)
}

// partitionType validates the attribute that says how the devices are partitioned: devices that consume
// counters have it as a string.
func partitionType(p *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	name := spec.PartitionTypeAttribute
	if name == nil {
		return nil
	}
	at := p.Child("partitionTypeAttribute")
	errs := fullyQualifiedName(at, string(*name))
	consumes := func(d resourcev1.Device) bool { return len(d.ConsumesCounters) > 0 }
	if !slices.ContainsFunc(spec.Devices, consumes) {
		return append(errs, field.Invalid(at, *name, "may only be set on a slice which declares devices that consume counters"))
	}
	// As upstream, only a name that would be malformed in lower case, too, excuses the devices.
	if len(fullyQualifiedName(at, strings.ToLower(string(*name)))) > 0 {
		return errs
	}
	for i := range spec.Devices {
		d, at := &spec.Devices[i], p.Child("devices").Index(i).Child("attributes").Key(string(*name))
		if !consumes(*d) {
			continue
		}
		switch attribute := partitiontype.Attribute(spec.Driver, d.Attributes, string(*name)); {
		case attribute == nil:
			errs = append(errs, field.Required(at, "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"))
		case attribute.StringValue == nil:
			errs = append(errs, field.Invalid(at, *attribute, "must be a string value because `partitionTypeAttribute` names this attribute"))
		}
	}
	return errs
}

// mostDevices returns the maximum number of devices in one slice, which is lower if a device has
// taints, consumes counters, or has a list as an attribute.
func mostDevices(devices []resourcev1.Device) int {
	for i := range devices {
		d := &devices[i]
		if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 {
			return resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
		}
		for _, a := range d.Attributes {
			if a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil {
				return resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
			}
		}
	}
	return resourcev1.ResourceSliceMaxDevices
}

func validateCounters(p *field.Path, counters map[string]resourcev1.Counter, most int) field.ErrorList {
	switch n := len(counters); {
	case n == 0:
		return field.ErrorList{field.Required(p, "")}
	case n > most:
		return field.ErrorList{field.TooMany(p, n, most)}
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(counters) {
		errs = append(errs, invalidFor(p, name, isDNSLabel(name))...)
	}
	return errs
}

func validatePool(p *field.Path, pool *resourcev1.ResourcePool) field.ErrorList {
	errs := validatePoolName(p.Child("name"), pool.Name)
	if pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(p.Child("resourceSliceCount"), pool.ResourceSliceCount, notPositive))
	}
	return append(errs, nonNegative(p.Child("generation"), pool.Generation)...)
}

func validatePoolName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	if len(name) > resourcev1.PoolNameMaxLength {
		errs = append(errs, field.TooLong(p, name, resourcev1.PoolNameMaxLength))
	}
	for part := range strings.SplitSeq(name, "/") {
		errs = append(errs, invalidFor(p, part, isDNSSubdomain(part))...)
	}
	return errs
}

// validateSliceNodes requires exactly one field that says on which nodes the devices
// are.
func validateSliceNodes(p *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	set, errs := placements(p, spec.NodeName, spec.NodeSelector, spec.AllNodes, "must be either unset or set to a non-empty string")
	if s := spec.NodeSelector; s != nil && len(s.NodeSelectorTerms) != 1 {
		errs = append(errs, field.Invalid(p.Child("nodeSelector", "nodeSelectorTerms"), s.NodeSelectorTerms, "must have exactly one node selector term"))
	}
	if each := spec.PerDeviceNodeSelection; deref(each) {
		set = append(set, "`perDeviceNodeSelection`")
	} else if each != nil {
		errs = append(errs, field.Invalid(p.Child("perDeviceNodeSelection"), *each, unsetOrTrue))
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch len(set) {
	case 0:
		return append(errs, field.Required(p, one))
	case 1:
		return errs
	}
	return append(errs, field.Invalid(p, "{"+strings.Join(set, ", ")+"}", one+", but multiple fields are set"))
}

const unsetOrTrue = "must be either unset or set to true"

// placements returns the fields that say where the devices are.
func placements(p *field.Path, node *string, selector *corev1.NodeSelector, all *bool, emptyNode string) (set []string, errs field.ErrorList) {
	switch {
	case node == nil:
	case *node == "":
		errs = append(errs, field.Invalid(p.Child("nodeName"), "", emptyNode))
	default:
		set = append(set, "`nodeName`")
		errs = append(errs, invalidFor(p.Child("nodeName"), *node, isDNSSubdomain(*node))...)
	}
	if selector != nil {
		set = append(set, "`nodeSelector`")
		errs = append(errs, validateNodeSelector(p.Child("nodeSelector"), selector)...)
	}
	switch {
	case all == nil:
	case *all:
		set = append(set, "`allNodes`")
	default:
		errs = append(errs, field.Invalid(p.Child("allNodes"), false, unsetOrTrue))
	}
	return set, errs
}

// ResourceSliceCreate validates the capacities of all devices. An update validates the ones that it
// changes, with ResourceSliceUpdate.
func ResourceSliceCreate(s *resourcev1.ResourceSlice) field.ErrorList {
	return changedCapacities(field.NewPath("spec", "devices"), s, &resourcev1.ResourceSlice{})
}

func ResourceSliceUpdate(s, old *resourcev1.ResourceSlice) field.ErrorList {
	p := field.NewPath("spec")
	errs := changedCapacities(p.Child("devices"), s, old)
	errs = append(errs, immutable(p.Child("driver"), s.Spec.Driver, old.Spec.Driver)...)
	errs = append(errs, immutable(p.Child("pool", "name"), s.Spec.Pool.Name, old.Spec.Pool.Name)...)
	return append(errs, immutable(p.Child("nodeName"), s.Spec.NodeName, old.Spec.NodeName)...)
}
