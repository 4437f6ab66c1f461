package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateDevice validates one device of a slice; placed reports that the slice sets the
// node for each device separately.
func validateDevice(p *field.Path, d *resourcev1.Device, placed bool) field.ErrorList {
	errs := invalidFor(p.Child("name"), d.Name, isDNSLabel(d.Name))
	if n, most := len(d.Attributes)+len(d.Capacity), resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice; n > most {
		errs = append(errs, field.Invalid(p, n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", most)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		a := d.Attributes[name]
		errs = append(errs, validateAttributeName(p.Child("attributes"), string(name))...)
		errs = append(errs, validateAttribute(p.Child("attributes").Key(string(name)), &a)...)
	}
	errs = append(errs, listOf(p.Child("taints"), d.Taints, resourcev1.DeviceTaintsMaxLength, validateDeviceTaint)...)
	errs = append(errs, setOf(p.Child("consumesCounters"), d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice,
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		func(p *field.Path, c *resourcev1.DeviceCounterConsumption) field.ErrorList {
			errs := requiredOr(p.Child("counterSet"), c.CounterSet, isDNSLabel)
			return append(errs, validateCounters(p.Child("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption)...)
		})...)
	errs = append(errs, validateDeviceNodes(p, d, placed)...)
	return append(errs, validateBindingConditions(p, d.BindingConditions, d.BindingFailureConditions)...)
}

// changedCapacities validates the capacities of the devices that old does not have alike.
func changedCapacities(p *field.Path, s, old *resourcev1.ResourceSlice) field.ErrorList {
	was := map[string]*resourcev1.Device{}
	for i := range old.Spec.Devices {
		was[old.Spec.Devices[i].Name] = &old.Spec.Devices[i]
	}
	var errs field.ErrorList
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if before := was[d.Name]; before == nil || !apiequality.Semantic.DeepEqual(d.Capacity, before.Capacity) {
			errs = append(errs, validateCapacities(p.Index(i).Child("capacity"), d)...)
		}
	}
	return errs
}

func validateCapacities(p *field.Path, d *resourcev1.Device) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		capacity := d.Capacity[name]
		errs = append(errs, validateAttributeName(p, string(name))...)
		errs = append(errs, validateDeviceCapacity(p.Key(string(name)).Child("requestPolicy"), &capacity, deref(d.AllowMultipleAllocations))...)
	}
	return errs
}

func validateDeviceNodes(p *field.Path, d *resourcev1.Device, placed bool) field.ErrorList {
	if !placed {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			return field.ErrorList{field.Invalid(p, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
		}
		return nil
	}
	set, errs := placements(p, d.NodeName, d.NodeSelector, d.AllNodes, "must not be empty")
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	switch len(set) {
	case 0:
		return append(errs, field.Required(p, one))
	case 1:
		return errs
	}
	return append(errs, field.Invalid(p, "{"+strings.Join(set, ", ")+"}", one))
}

// validateAttribute requires one value or one list of values.
func validateAttribute(p *field.Path, a *resourcev1.DeviceAttribute) field.ErrorList {
	var errs field.ErrorList
	values := 0
	for _, list := range []struct {
		name    string
		set     bool
		entries int
	}{
		{"int", a.IntValue != nil, 1},
		{"bool", a.BoolValue != nil, 1},
		{"string", a.StringValue != nil, 1},
		{"version", a.VersionValue != nil, 1},
		{"ints", a.IntValues != nil, len(a.IntValues)},
		{"bools", a.BoolValues != nil, len(a.BoolValues)},
		{"strings", a.StringValues != nil, len(a.StringValues)},
		{"versions", a.VersionValues != nil, len(a.VersionValues)},
	} {
		if !list.set {
			continue
		}
		values++
		if list.entries == 0 {
			errs = append(errs, field.Invalid(p.Child(list.name), []any{}, "must not be empty if specified"))
		}
	}
	if a.StringValue != nil {
		errs = append(errs, attributeText(p.Child("string"), *a.StringValue)...)
	}
	if a.VersionValue != nil {
		errs = append(errs, attributeVersion(p.Child("version"), *a.VersionValue)...)
	}
	for i, text := range a.StringValues {
		errs = append(errs, attributeText(p.Child("strings").Index(i), text)...)
	}
	for i, version := range a.VersionValues {
		errs = append(errs, attributeVersion(p.Child("versions").Index(i), version)...)
	}
	switch {
	case values == 0:
		errs = append(errs, field.Invalid(p, "", "exactly one value must be specified"))
	case values > 1:
		errs = append(errs, field.Invalid(p, a, "exactly one value must be specified"))
	}
	return errs
}

func attributeText(p *field.Path, text string) field.ErrorList {
	if len(text) > resourcev1.DeviceAttributeMaxValueLength {
		return field.ErrorList{field.TooLong(p, "", resourcev1.DeviceAttributeMaxValueLength)}
	}
	return nil
}

func attributeVersion(p *field.Path, version string) field.ErrorList {
	var errs field.ErrorList
	if !isSemanticVersion(version) {
		errs = append(errs, field.Invalid(p, version, "must be a string compatible with semver.org spec 2.0.0"))
	}
	return append(errs, attributeText(p, version)...)
}

// isSemanticVersion follows the grammar of semver.org.
func isSemanticVersion(version string) bool {
	const number, before, build = `(0|[1-9][0-9]*)`, `(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)`, `[0-9a-zA-Z-]+`
	matches, err := regexp.MatchString(
		`^`+number+`\.`+number+`\.`+number+
			`(-`+before+`(\.`+before+`)*)?`+
			`(\+`+build+`(\.`+build+`)*)?$`, version)
	return err == nil && matches
}

// validateDeviceCapacity validates the request policy of a capacity; p is its path.
func validateDeviceCapacity(p *field.Path, c *resourcev1.DeviceCapacity, shared bool) field.ErrorList {
	policy := c.RequestPolicy
	switch {
	case policy == nil:
		return nil
	case !shared:
		return field.ErrorList{field.Forbidden(p, "allowMultipleAllocations must be true")}
	case len(policy.ValidValues) > 0 && policy.ValidRange != nil:
		return field.ErrorList{field.Forbidden(p, `exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case len(policy.ValidValues) > 0 && policy.Default == nil:
		return field.ErrorList{field.Required(p.Child("default"), "required when validValues is defined")}
	case len(policy.ValidValues) > 0:
		return validateCapacityValues(p.Child("validValues"), policy, c.Value)
	case policy.ValidRange != nil && policy.Default == nil:
		return field.ErrorList{field.Required(p.Child("default"), "required when validRange is defined")}
	case policy.ValidRange != nil:
		return validateCapacityRange(p.Child("validRange"), policy.ValidRange, *policy.Default, c.Value)
	}
	return nil
}

func validateCapacityValues(p *field.Path, policy *resourcev1.CapacityRequestPolicy, capacity resource.Quantity) field.ErrorList {
	var errs field.ErrorList
	values := policy.ValidValues
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			errs = append(errs, field.Invalid(p.Index(i), values[i].String(), "values must be sorted in ascending order"))
		}
	}
	errs = append(errs, setOf(p, values, 10,
		func(q *resource.Quantity) string { return fmt.Sprint(q.Value()) },
		func(p *field.Path, q *resource.Quantity) field.ErrorList {
			if q.Cmp(capacity) > 0 {
				return field.ErrorList{field.Invalid(p, q.String(), "option is larger than capacity value: "+capacity.String())}
			}
			return nil
		})...)
	if !slices.ContainsFunc(values, func(q resource.Quantity) bool { return q.Cmp(*policy.Default) == 0 }) {
		errs = append(errs, field.Invalid(p, policy.Default.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

func validateCapacityRange(p *field.Path, r *resourcev1.CapacityRequestPolicyRange, normal, capacity resource.Quantity) field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(p.Child("min"), "required when validRange is defined")}
	}
	var errs field.ErrorList
	refuse := func(wrong bool, name string, value resource.Quantity, message string, limit resource.Quantity) {
		if wrong {
			errs = append(errs, field.Invalid(p.Child(name), value.String(), message+": "+limit.String()))
		}
	}
	refuse(r.Min.Cmp(capacity) > 0, "min", *r.Min, "min is larger than capacity value", capacity)
	refuse(normal.Cmp(*r.Min) < 0, "min", normal, "default is less than min", *r.Min)
	if r.Max != nil {
		refuse(r.Min.Cmp(*r.Max) > 0, "max", *r.Min, "min is larger than max", *r.Max)
		refuse(r.Max.Cmp(capacity) > 0, "max", *r.Max, "max is larger than capacity value", capacity)
		refuse(normal.Cmp(*r.Max) > 0, "max", normal, "default is more than max", *r.Max)
	}
	if r.Step == nil {
		return errs
	}
	first := r.Min.DeepCopy()
	first.Add(*r.Step)
	refuse(first.Cmp(capacity) > 0, "step", *r.Step, "one step "+first.String()+" is larger than capacity value", capacity)
	stepped := func(value resource.Quantity) {
		if step := r.Step.Value(); step != 0 && (value.Value()-r.Min.Value())%step != 0 {
			errs = append(errs, field.Invalid(p.Child("step"), value.String(),
				fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step, r.Min)))
		}
	}
	stepped(normal)
	if r.Max != nil {
		stepped(*r.Max)
	}
	return errs
}

// validateBindingConditions validates the conditions that must hold before a claim's pod is
// bound (KEP-5007).
func validateBindingConditions(p *field.Path, conditions, failures []string) field.ErrorList {
	on, off := p.Child("bindingConditions"), p.Child("bindingFailureConditions")
	name := func(p *field.Path, name *string) field.ErrorList { return invalidFor(p, *name, isQualifiedName(*name)) }
	itself := func(name *string) string { return *name }
	errs := setOf(on, conditions, resourcev1.BindingConditionsMaxSize, itself, name)
	errs = append(errs, setOf(off, failures, resourcev1.BindingFailureConditionsMaxSize, itself, name)...)
	for i, condition := range failures {
		if slices.Contains(conditions, condition) {
			errs = append(errs, field.Invalid(off.Index(i), condition, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	if len(conditions) == 0 && len(failures) > 0 {
		errs = append(errs, field.Invalid(on, conditions, "bindingConditions are required to use bindingFailureConditions"))
	}
	if len(failures) == 0 && len(conditions) > 0 {
		errs = append(errs, field.Invalid(off, failures, "bindingFailureConditions are required to use bindingConditions"))
	}
	return errs
}

// validateNodeSelector requires at least one term.
func validateNodeSelector(p *field.Path, s *corev1.NodeSelector) field.ErrorList {
	at := p.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(at, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range s.NodeSelectorTerms {
		errs = append(errs, validateNodeTerm(at.Index(i), &s.NodeSelectorTerms[i], false)...)
	}
	return errs
}
