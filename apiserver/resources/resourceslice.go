package resources

import (
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func resourceSliceRow() *Resource {
	return &Resource{
		GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"),
		Plural:           "resourceslices",
		New:              func() runtime.Object { return &resourcev1.ResourceSlice{} },
		NewList:          func() runtime.Object { return &resourcev1.ResourceSliceList{} },
		SelectableFields: []string{resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver},
		Field:            fieldOf(resourceSliceField),
		Strategy: Strategy{
			Generation:     true,
			Validate:       check(validateResourceSlice),
			ValidateUpdate: checkUpdate(validateResourceSliceUpdate),
		},
	}
}

func resourceSliceField(s *resourcev1.ResourceSlice, label string) string {
	switch label {
	case resourcev1.ResourceSliceSelectorNodeName:
		return deref(s.Spec.NodeName)
	case resourcev1.ResourceSliceSelectorDriver:
		return s.Spec.Driver
	}
	return ""
}

func validateResourceSlice(s *resourcev1.ResourceSlice) field.ErrorList {
	spec, p := &s.Spec, field.NewPath("spec")
	errs := validateDriverName(p.Child("driver"), spec.Driver)
	errs = append(errs, validatePool(p.Child("pool"), &spec.Pool)...)
	if spec.NodeName != nil {
		errs = append(errs, requiredOr(p.Child("nodeName"), *spec.NodeName, isDNSSubdomain)...)
	}
	errs = append(errs, validateSliceNodes(p, spec)...)
	if n := len(spec.Devices); n > resourcev1.ResourceSliceMaxDevices {
		errs = append(errs, field.TooMany(p.Child("devices"), n, resourcev1.ResourceSliceMaxDevices))
	}
	var names nameList
	for i := range spec.Devices {
		at := p.Child("devices").Index(i)
		errs = append(errs, validateDevice(at, &spec.Devices[i])...)
		errs = append(errs, names.add(at.Child("name"), spec.Devices[i].Name)...)
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

// validateSliceNodes demands one way to say on which nodes the devices are.
func validateSliceNodes(p *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	var set []string
	for _, way := range []struct {
		name string
		set  bool
	}{
		{"`nodeName`", spec.NodeName != nil},
		{"`nodeSelector`", spec.NodeSelector != nil},
		{"`allNodes`", deref(spec.AllNodes)},
		{"`perDeviceNodeSelection`", deref(spec.PerDeviceNodeSelection)},
	} {
		if way.set {
			set = append(set, way.name)
		}
	}
	switch {
	case len(set) == 0 && len(spec.SharedCounters) == 0:
		return field.ErrorList{field.Required(p, "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required")}
	case len(set) > 1:
		return field.ErrorList{field.Invalid(p, "{"+strings.Join(set, ", ")+"}", "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set")}
	}
	if spec.NodeSelector == nil {
		return nil
	}
	at := p.Child("nodeSelector", "nodeSelectorTerms")
	if n := len(spec.NodeSelector.NodeSelectorTerms); n != 1 {
		return field.ErrorList{field.Invalid(at, spec.NodeSelector.NodeSelectorTerms, "must have exactly one node selector term")}
	}
	return validateNodeTerm(at.Index(0), &spec.NodeSelector.NodeSelectorTerms[0])
}

func validateDevice(p *field.Path, d *resourcev1.Device) field.ErrorList {
	errs := requiredOr(p.Child("name"), d.Name, isDNSLabel)
	if n := len(d.Attributes) + len(d.Capacity); n > resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		errs = append(errs, field.Invalid(p, n, "the total number of attributes and capacities must not exceed 32"))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		at := p.Child("attributes").Key(string(name))
		errs = append(errs, validateAttributeName(at, string(name), false)...)
		a := d.Attributes[name]
		errs = append(errs, validateAttribute(at, &a)...)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		errs = append(errs, validateAttributeName(p.Child("capacity").Key(string(name)), string(name), false)...)
	}
	if n := len(d.Taints); n > resourcev1.DeviceTaintsMaxLength {
		errs = append(errs, field.TooMany(p.Child("taints"), n, resourcev1.DeviceTaintsMaxLength))
	}
	for i := range d.Taints {
		errs = append(errs, validateDeviceTaint(p.Child("taints").Index(i), &d.Taints[i])...)
	}
	return errs
}

// validateAttribute demands one value or one list of values.
func validateAttribute(p *field.Path, a *resourcev1.DeviceAttribute) field.ErrorList {
	var errs field.ErrorList
	values := 0
	for _, set := range []bool{
		a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if set {
			values++
		}
	}
	for _, text := range []struct {
		name  string
		value *string
	}{{"string", a.StringValue}, {"version", a.VersionValue}} {
		if text.value != nil && len(*text.value) > resourcev1.DeviceAttributeMaxValueLength {
			errs = append(errs, field.TooLong(p.Child(text.name), *text.value, resourcev1.DeviceAttributeMaxValueLength))
		}
	}
	switch {
	case values == 0:
		errs = append(errs, field.Required(p, "exactly one value must be specified"))
	case values > 1:
		errs = append(errs, field.Invalid(p, a, "exactly one value must be specified"))
	}
	return errs
}

func validateResourceSliceUpdate(s, old *resourcev1.ResourceSlice) field.ErrorList {
	p := field.NewPath("spec")
	errs := immutable(p.Child("driver"), s.Spec.Driver, old.Spec.Driver)
	errs = append(errs, immutable(p.Child("pool", "name"), s.Spec.Pool.Name, old.Spec.Pool.Name)...)
	return append(errs, immutable(p.Child("nodeName"), s.Spec.NodeName, old.Spec.NodeName)...)
}
