package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ResourceClaim(c *resourcev1.ResourceClaim) field.ErrorList {
	return validateDeviceClaim(field.NewPath("spec", "devices"), &c.Spec.Devices)
}

func ResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	p := field.NewPath("spec")
	errs := metav1validation.ValidateLabels(t.Spec.Labels, p.Child("metadata", "labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(t.Spec.Annotations, p.Child("metadata", "annotations"))...)
	return append(errs, validateDeviceClaim(p.Child("spec", "devices"), &t.Spec.Spec.Devices)...)
}

func validateDeviceClaim(p *field.Path, c *resourcev1.DeviceClaim) field.ErrorList {
	known := requestNames(c)
	errs := setOf(p.Child("requests"), c.Requests, resourcev1.DeviceRequestsMaxSize,
		func(r *resourcev1.DeviceRequest) string { return r.Name }, validateDeviceRequest)
	errs = append(errs, listOf(p.Child("constraints"), c.Constraints, resourcev1.DeviceConstraintsMaxSize,
		func(p *field.Path, c *resourcev1.DeviceConstraint) field.ErrorList {
			return validateDeviceConstraint(p, c, known)
		})...)
	return append(errs, listOf(p.Child("config"), c.Config, resourcev1.DeviceConfigMaxSize,
		func(p *field.Path, c *resourcev1.DeviceClaimConfiguration) field.ErrorList {
			errs := namesKnown(p.Child("requests"), c.Requests, known)
			return append(errs, validateDeviceConfiguration(p, &c.DeviceConfiguration)...)
		})...)
}

// listOf validates the entries of a list. If it is too long, that is the only error.
func listOf[T any](p *field.Path, list []T, longest int, check func(p *field.Path, entry *T) field.ErrorList) field.ErrorList {
	if len(list) > longest {
		return field.ErrorList{field.TooMany(p, len(list), longest)}
	}
	var errs field.ErrorList
	for i := range list {
		errs = append(errs, check(p.Index(i), &list[i])...)
	}
	return errs
}

// setOf is listOf for a list whose entries must have distinct keys.
func setOf[T any](p *field.Path, list []T, longest int, key func(entry *T) string, check func(p *field.Path, entry *T) field.ErrorList) field.ErrorList {
	errs := listOf(p, list, longest, check)
	if len(list) > longest {
		return errs
	}
	var keys nameList
	for i := range list {
		errs = append(errs, keys.add(p.Index(i), key(&list[i]))...)
	}
	return errs
}

// requestNames returns the names by which other parts of a claim refer to its requests.
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
	return setOf(p, names, resourcev1.DeviceRequestsMaxSize,
		func(name *string) string { return *name },
		func(p *field.Path, name *string) field.ErrorList { return nameKnown(p, *name, known) })
}

// nameKnown validates the name of a request, or of a request and one of its
// subrequests.
func nameKnown(p *field.Path, name string, known []string) field.ErrorList {
	unknown := field.Invalid(p, name, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		return field.ErrorList{unknown}
	}
	var errs field.ErrorList
	for _, part := range parts {
		errs = append(errs, invalidFor(p, part, isDNSLabel(part))...)
	}
	if !slices.Contains(known, name) {
		errs = append(errs, unknown)
	}
	return errs
}

func validateDeviceRequest(p *field.Path, r *resourcev1.DeviceRequest) field.ErrorList {
	errs := invalidFor(p.Child("name"), r.Name, isDNSLabel(r.Name))
	switch exactly, first := r.Exactly != nil, len(r.FirstAvailable) > 0; {
	case exactly && first:
		return append(errs, field.Invalid(p, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
	case exactly:
		e := r.Exactly
		return append(errs, validateDeviceNeed(p.Child("exactly"), e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations)...)
	case !first:
		return append(errs, field.Required(p, "exactly one of `exactly` or `firstAvailable` is required"))
	}
	return append(errs, setOf(p.Child("firstAvailable"), r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize,
		func(s *resourcev1.DeviceSubRequest) string { return s.Name },
		func(p *field.Path, s *resourcev1.DeviceSubRequest) field.ErrorList {
			errs := invalidFor(p.Child("name"), s.Name, isDNSLabel(s.Name))
			return append(errs, validateDeviceNeed(p, s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations)...)
		})...)
}

// validateDeviceNeed validates the fields that the two forms of a request share.
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

func validateDeviceToleration(p *field.Path, t *resourcev1.DeviceToleration) field.ErrorList {
	errs := optional(p.Child("key"), t.Key, isQualifiedName)
	errs = append(errs, requiredOneOf(p.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)...)
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(p.Child("value"), t.Value, "must be empty for operator `Exists`"))
		}
	case resourcev1.DeviceTolerationOpEqual:
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
	switch {
	case c.MatchAttribute != nil:
		errs = append(errs, validateFullAttributeName(p.Child("matchAttribute"), string(*c.MatchAttribute))...)
	case c.DistinctAttribute != nil:
		errs = append(errs, validateFullAttributeName(p.Child("distinctAttribute"), string(*c.DistinctAttribute))...)
	default:
		errs = append(errs, field.Required(p, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
	return errs
}

// validateFullAttributeName validates the name of an attribute in a constraint. Its domain is in
// lower case, unlike the domain of an attribute in a slice.
func validateFullAttributeName(p *field.Path, name string) field.ErrorList {
	errs := validateQualifiedAttribute(p, name, func(p *field.Path, domain string) field.ErrorList {
		return invalidFor(p, domain, isDNSSubdomain(domain))
	})
	if !strings.Contains(name, "/") {
		errs = append(errs, field.Invalid(p, name, "a fully qualified name must be a domain and a name separated by a slash"))
	}
	return errs
}

// validateAttributeName validates "domain/id"; the domain defaults to the driver's.
func validateAttributeName(p *field.Path, name string) field.ErrorList {
	return validateQualifiedAttribute(p, name, validateDriverName)
}

func validateQualifiedAttribute(p *field.Path, name string, validateDomain func(*field.Path, string) field.ErrorList) field.ErrorList {
	domain, id, has := strings.Cut(name, "/")
	if !has {
		domain, id = "", name
	}
	var errs field.ErrorList
	switch {
	case strings.Contains(id, "/"):
		return nil // upstream accepts it
	case has && domain == "":
		errs = append(errs, field.Invalid(p, "", "the domain must not be empty"))
	case has:
		errs = append(errs, validateDomain(p, domain)...)
	}
	if has && id == "" {
		return append(errs, field.Invalid(p, "", "the name must not be empty"))
	}
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(p, "", resourcev1.DeviceMaxIDLength))
	}
	return append(errs, invalidFor(p, id, content.IsCIdentifier(id))...)
}

func validateDeviceConfiguration(p *field.Path, c *resourcev1.DeviceConfiguration) field.ErrorList {
	at := p.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	errs := validateDriverName(at.Child("driver"), c.Opaque.Driver)
	return append(errs, validateRawObject(at.Child("parameters"), c.Opaque.Parameters.Raw, resourcev1.OpaqueParametersMaxLength)...)
}

// validateRawObject requires a JSON object within the length limit.
func validateRawObject(p *field.Path, raw []byte, longest int) field.ErrorList {
	const omitted = "<value omitted>"
	switch {
	case len(raw) == 0:
		return field.ErrorList{field.Required(p, "")}
	case len(raw) > longest:
		return field.ErrorList{field.TooLong(p, "", longest)}
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return field.ErrorList{field.Invalid(p, omitted, fmt.Sprintf("error parsing data as JSON: %v", err))}
	}
	if value == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	if _, ok := value.(map[string]any); !ok {
		return field.ErrorList{field.Invalid(p, omitted, "must be a valid JSON object")}
	}
	return nil
}
