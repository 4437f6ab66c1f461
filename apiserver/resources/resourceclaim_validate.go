package resources

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateResourceClaim(c *resourcev1.ResourceClaim) field.ErrorList {
	return validateDeviceClaim(field.NewPath("spec", "devices"), &c.Spec.Devices)
}

func validateResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	p := field.NewPath("spec")
	errs := metav1validation.ValidateLabels(t.Spec.Labels, p.Child("metadata", "labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(t.Spec.Annotations, p.Child("metadata", "annotations"))...)
	return append(errs, validateDeviceClaim(p.Child("spec", "devices"), &t.Spec.Spec.Devices)...)
}

func validateDeviceClaim(p *field.Path, c *resourcev1.DeviceClaim) field.ErrorList {
	var errs field.ErrorList
	if n := len(c.Requests); n > resourcev1.DeviceRequestsMaxSize {
		errs = append(errs, field.TooMany(p.Child("requests"), n, resourcev1.DeviceRequestsMaxSize))
	}
	var names nameList
	for i := range c.Requests {
		at := p.Child("requests").Index(i)
		errs = append(errs, validateDeviceRequest(at, &c.Requests[i])...)
		errs = append(errs, names.add(at.Child("name"), c.Requests[i].Name)...)
	}
	known := requestNames(c)
	if n := len(c.Constraints); n > resourcev1.DeviceConstraintsMaxSize {
		errs = append(errs, field.TooMany(p.Child("constraints"), n, resourcev1.DeviceConstraintsMaxSize))
	}
	for i := range c.Constraints {
		errs = append(errs, validateDeviceConstraint(p.Child("constraints").Index(i), &c.Constraints[i], known)...)
	}
	if n := len(c.Config); n > resourcev1.DeviceConfigMaxSize {
		errs = append(errs, field.TooMany(p.Child("config"), n, resourcev1.DeviceConfigMaxSize))
	}
	for i := range c.Config {
		at := p.Child("config").Index(i)
		errs = append(errs, namesKnown(at.Child("requests"), c.Config[i].Requests, known)...)
		errs = append(errs, validateDeviceConfiguration(at, &c.Config[i].DeviceConfiguration)...)
	}
	return errs
}

// requestNames are the names by which the rest of a claim may mean its requests.
func requestNames(c *resourcev1.DeviceClaim) []string {
	var names []string
	for i := range c.Requests {
		names = append(names, c.Requests[i].Name)
		for j := range c.Requests[i].FirstAvailable {
			names = append(names, c.Requests[i].Name+"/"+c.Requests[i].FirstAvailable[j].Name)
		}
	}
	return names
}

func namesKnown(p *field.Path, names, known []string) field.ErrorList {
	var errs field.ErrorList
	var seen nameList
	for i, name := range names {
		if !slices.Contains(known, name) {
			errs = append(errs, field.Invalid(p.Index(i), name, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"))
		}
		errs = append(errs, seen.add(p.Index(i), name)...)
	}
	return errs
}

func validateDeviceRequest(p *field.Path, r *resourcev1.DeviceRequest) field.ErrorList {
	errs := requiredOr(p.Child("name"), r.Name, isDNSLabel)
	switch exactly, first := r.Exactly != nil, len(r.FirstAvailable) > 0; {
	case exactly && first:
		return append(errs, field.Invalid(p, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
	case exactly:
		e := r.Exactly
		return append(errs, validateDeviceNeed(p.Child("exactly"), e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations)...)
	case !first:
		return append(errs, field.Required(p, "exactly one of `exactly` or `firstAvailable` is required"))
	}
	if n := len(r.FirstAvailable); n > resourcev1.FirstAvailableDeviceRequestMaxSize {
		errs = append(errs, field.TooMany(p.Child("firstAvailable"), n, resourcev1.FirstAvailableDeviceRequestMaxSize))
	}
	var names nameList
	for i := range r.FirstAvailable {
		s, at := &r.FirstAvailable[i], p.Child("firstAvailable").Index(i)
		errs = append(errs, requiredOr(at.Child("name"), s.Name, isDNSLabel)...)
		errs = append(errs, names.add(at.Child("name"), s.Name)...)
		errs = append(errs, validateDeviceNeed(at, s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations)...)
	}
	return errs
}

// validateDeviceNeed checks what the two forms of a request have in common.
func validateDeviceNeed(p *field.Path, class string, selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, devices int64, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	errs := requiredOr(p.Child("deviceClassName"), class, isDNSSubdomain)
	errs = append(errs, validateDeviceSelectors(p.Child("selectors"), selectors)...)
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if devices != 0 {
			errs = append(errs, field.Invalid(p.Child("count"), devices, "must not be specified when allocationMode is 'All'"))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if devices <= 0 {
			errs = append(errs, field.Invalid(p.Child("count"), devices, notPositive))
		}
	default:
		errs = append(errs, oneOf(p.Child("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)...)
	}
	for i := range tolerations {
		errs = append(errs, validateDeviceToleration(p.Child("tolerations").Index(i), &tolerations[i])...)
	}
	return errs
}

// validateDeviceSelectors does not compile the expressions: what allocates does.
func validateDeviceSelectors(p *field.Path, selectors []resourcev1.DeviceSelector) field.ErrorList {
	var errs field.ErrorList
	if n := len(selectors); n > resourcev1.DeviceSelectorsMaxSize {
		errs = append(errs, field.TooMany(p, n, resourcev1.DeviceSelectorsMaxSize))
	}
	for i, s := range selectors {
		at := p.Index(i).Child("cel")
		switch {
		case s.CEL == nil:
			errs = append(errs, field.Required(at, ""))
		case strings.TrimSpace(s.CEL.Expression) == "":
			errs = append(errs, field.Required(at.Child("expression"), ""))
		case len(s.CEL.Expression) > resourcev1.CELSelectorExpressionMaxLength:
			errs = append(errs, field.TooLong(at.Child("expression"), "", resourcev1.CELSelectorExpressionMaxLength))
		}
	}
	return errs
}

func validateDeviceToleration(p *field.Path, t *resourcev1.DeviceToleration) field.ErrorList {
	errs := optional(p.Child("key"), t.Key, isQualifiedName)
	errs = append(errs, oneOf(p.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)...)
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(p.Child("value"), t.Value, "must be empty for operator `Exists`"))
		}
	case resourcev1.DeviceTolerationOpEqual:
		if t.Key == "" {
			errs = append(errs, field.Required(p.Child("key"), ""))
		}
		errs = append(errs, invalidFor(p.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
	}
	if t.Effect != "" {
		errs = append(errs, validateDeviceEffect(p.Child("effect"), t.Effect)...)
	}
	return errs
}

func validateDeviceEffect(p *field.Path, effect resourcev1.DeviceTaintEffect) field.ErrorList {
	return requiredOneOf(p, effect, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)
}

func validateDeviceConstraint(p *field.Path, c *resourcev1.DeviceConstraint, known []string) field.ErrorList {
	errs := namesKnown(p.Child("requests"), c.Requests, known)
	for _, attribute := range []struct {
		name  string
		value *resourcev1.FullyQualifiedName
	}{{"matchAttribute", c.MatchAttribute}, {"distinctAttribute", c.DistinctAttribute}} {
		if attribute.value != nil {
			errs = append(errs, validateAttributeName(p.Child(attribute.name), string(*attribute.value), true)...)
		}
	}
	if c.MatchAttribute == nil && c.DistinctAttribute == nil {
		errs = append(errs, field.Required(p, "exactly one of `matchAttribute` or `distinctAttribute` is required"))
	}
	return errs
}

// validateAttributeName checks "domain/id"; the domain may be left out of a name
// that need not be full, and is then the driver's.
func validateAttributeName(p *field.Path, name string, full bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "name required")}
	}
	domain, id, has := strings.Cut(name, "/")
	if !has {
		domain, id = "", name
		if full {
			return field.ErrorList{field.Invalid(p, name, "must include a domain")}
		}
	}
	var errs field.ErrorList
	if has {
		errs = append(errs, requiredOr(p, domain, isDNSSubdomain)...)
		if len(domain) > resourcev1.DeviceMaxDomainLength {
			errs = append(errs, field.TooLong(p, domain, resourcev1.DeviceMaxDomainLength))
		}
	}
	if id == "" {
		return append(errs, field.Required(p, "the name must not be empty"))
	}
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(p, id, resourcev1.DeviceMaxIDLength))
	}
	return append(errs, invalidFor(p, id, validation.IsCIdentifier(id))...)
}

func validateDeviceConfiguration(p *field.Path, c *resourcev1.DeviceConfiguration) field.ErrorList {
	if c.Opaque == nil {
		return field.ErrorList{field.Required(p, "exactly one of `opaque` is required")}
	}
	at := p.Child("opaque")
	errs := validateDriverName(at.Child("driver"), c.Opaque.Driver)
	switch raw := c.Opaque.Parameters.Raw; {
	case len(raw) == 0:
		errs = append(errs, field.Required(at.Child("parameters"), ""))
	case len(raw) > resourcev1.OpaqueParametersMaxLength:
		errs = append(errs, field.TooLong(at.Child("parameters"), "", resourcev1.OpaqueParametersMaxLength))
	}
	return errs
}

func validateResourceClaimUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	return immutable(field.NewPath("spec"), c.Spec, old.Spec)
}

func validateResourceClaimTemplateUpdate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	return immutable(field.NewPath("spec"), t.Spec, old.Spec)
}

// validateResourceClaimStatus holds to what a status may become: an allocation
// stands for as long as the claim is reserved, and only an allocated claim is.
func validateResourceClaimStatus(c, old *resourcev1.ResourceClaim) field.ErrorList {
	p, s := field.NewPath("status"), &c.Status
	at := p.Child("reservedFor")
	var errs field.ErrorList
	if n := len(s.ReservedFor); n > resourcev1.ResourceClaimReservedForMaxSize {
		errs = append(errs, field.TooMany(at, n, resourcev1.ResourceClaimReservedForMaxSize))
	}
	var uids nameList
	for i, consumer := range s.ReservedFor {
		errs = append(errs, requiredNonEmpty(at.Index(i).Child("resource"), consumer.Resource)...)
		errs = append(errs, requiredNonEmpty(at.Index(i).Child("name"), consumer.Name)...)
		errs = append(errs, requiredNonEmpty(at.Index(i).Child("uid"), string(consumer.UID))...)
		errs = append(errs, uids.add(at.Index(i).Child("uid"), string(consumer.UID))...)
	}
	if len(s.ReservedFor) > 0 {
		if s.Allocation == nil {
			errs = append(errs, field.Forbidden(at, "may not be specified when `allocated` is not set"))
		}
		if c.DeletionTimestamp != nil && len(s.ReservedFor) > len(old.Status.ReservedFor) {
			errs = append(errs, field.Forbidden(at, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
		}
	}
	if old.Status.Allocation != nil && s.Allocation != nil {
		errs = append(errs, immutable(p.Child("allocation"), s.Allocation, old.Status.Allocation)...)
	}
	return errs
}
