package validation

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These are the limits that the comments of resource.k8s.io/v1alpha3 give.
const (
	maxPoolStatuses     = 1000
	maxPoolConditions   = 10
	maxPoolSummaries    = 32
	maxPoolErrorInBytes = 256
)

// ResourcePoolStatusRequest validates a new request.
func ResourcePoolStatusRequest(r *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	p, spec := field.NewPath("spec"), &r.Spec
	errs := requiredOr(p.Child("driver"), spec.Driver, content.IsDNS1123SubdomainCaseless)
	if spec.PoolName != nil {
		errs = append(errs, resourcePoolName(p.Child("poolName"), *spec.PoolName)...)
	}
	if limit := deref(spec.Limit); spec.Limit != nil && (limit < 1 || limit > resourcev1alpha3.ResourcePoolStatusRequestLimitMax) {
		errs = append(errs, field.Invalid(p.Child("limit"), limit, atLeastOr(limit, 1, resourcev1alpha3.ResourcePoolStatusRequestLimitMax)))
	}
	if spec.DefaultPartitionTypeAttribute != nil {
		errs = append(errs, fullyQualifiedName(p.Child("defaultPartitionTypeAttribute"), *spec.DefaultPartitionTypeAttribute)...)
	}
	return errs
}

// atLeastOr says which of its limits a number exceeds.
func atLeastOr(n, least, most int32) string {
	if n < least {
		return fmt.Sprintf("must be greater than or equal to %d", least)
	}
	return fmt.Sprintf("must be less than or equal to %d", most)
}

// resourcePoolName validates the name of a pool as upstream's declarations do, which require nothing.
func resourcePoolName(p *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	if len(name) > resourcev1.PoolNameMaxLength {
		errs = append(errs, field.TooLong(p, "", resourcev1.PoolNameMaxLength))
	}
	for i, segment := range strings.Split(name, "/") {
		if segment == "" {
			errs = append(errs, field.Invalid(p, name, fmt.Sprintf("segment %d: must not be empty", i)))
			continue
		}
		for _, message := range isDNSSubdomain(segment) {
			errs = append(errs, field.Invalid(p, segment, fmt.Sprintf("segment %d: %s", i, message)))
		}
	}
	return errs
}

// fullyQualifiedName validates the name of an attribute that has its domain, in lower case.
func fullyQualifiedName(p *field.Path, name string) field.ErrorList {
	errs := validateQualifiedAttribute(p, name, func(p *field.Path, domain string) field.ErrorList {
		errs := invalidFor(p, domain, isDNSSubdomain(domain))
		if len(domain) > maxDriverName {
			errs = append(errs, field.TooLong(p, domain, maxDriverName))
		}
		return errs
	})
	if !strings.Contains(name, "/") {
		errs = append(errs, field.Invalid(p, name, "a fully qualified name must be a domain and a name separated by a slash"))
	}
	return errs
}

// ResourcePoolStatusRequestUpdate lets nothing of the spec change.
func ResourcePoolStatusRequestUpdate(r, old *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	return unchanged(field.NewPath("spec"), r.Spec, old.Spec)
}

// ResourcePoolStatusRequestStatus lets the status be set once.
func ResourcePoolStatusRequestStatus(r, old *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	p, status := field.NewPath("status"), r.Status
	var errs field.ErrorList
	if old.Status != nil {
		errs = immutable(p, status, old.Status)
		if len(errs) == 0 {
			return nil
		}
	}
	if status == nil {
		return errs
	}
	if old.Status == nil {
		errs = append(errs, metav1validation.ValidateConditions(status.Conditions, p.Child("conditions"))...)
	}
	if n := len(status.Conditions); n > maxPoolConditions {
		errs = append(errs, field.TooMany(p.Child("conditions"), n, maxPoolConditions))
	}
	errs = append(errs, requiredCount(p.Child("poolCount"), status.PoolCount)...)
	return append(errs, listOf(p.Child("pools"), status.Pools, maxPoolStatuses, poolStatus)...)
}

func requiredCount(p *field.Path, n *int32) field.ErrorList {
	if n == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return nonNegativePointer(p, n)
}

func poolStatus(p *field.Path, s *resourcev1alpha3.PoolStatus) field.ErrorList {
	errs := requiredOr(p.Child("driver"), s.Driver, content.IsDNS1123SubdomainCaseless)
	if s.PoolName == "" {
		errs = append(errs, field.Required(p.Child("poolName"), ""))
	} else {
		errs = append(errs, resourcePoolName(p.Child("poolName"), s.PoolName)...)
	}
	if s.Generation == 0 {
		errs = append(errs, field.Required(p.Child("generation"), "")) // as upstream, although pools may have it
	}
	errs = append(errs, nonNegative(p.Child("generation"), s.Generation)...)
	if n := s.ResourceSliceCount; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(p.Child("resourceSliceCount"), *n, "must be greater than or equal to 1"))
	}
	errs = append(errs, nonNegativePointer(p.Child("totalDevices"), s.TotalDevices)...)
	errs = append(errs, nonNegativePointer(p.Child("allocatedDevices"), s.AllocatedDevices)...)
	errs = append(errs, nonNegativePointer(p.Child("availableDevices"), s.AvailableDevices)...)
	errs = append(errs, nonNegativePointer(p.Child("unavailableDevices"), s.UnavailableDevices)...)
	if s.NodeName != nil {
		errs = append(errs, invalidFor(p.Child("nodeName"), *s.NodeName, isDNSSubdomain(*s.NodeName))...)
	}
	if text := s.ValidationError; text != nil && len(*text) > maxPoolErrorInBytes {
		errs = append(errs, field.TooLong(p.Child("validationError"), "", maxPoolErrorInBytes))
	}
	errs = append(errs, setOf(p.Child("partitionSummary"), s.PartitionSummary, maxPoolSummaries,
		func(t *resourcev1alpha3.PartitionTypeStatus) string { return t.Attribute + "\x00" + t.Type }, partitionTypeStatus)...)
	if s.ShareableSummary != nil {
		errs = append(errs, shareableSummary(p.Child("shareableSummary"), s.ShareableSummary)...)
	}
	return errs
}

func partitionTypeStatus(p *field.Path, s *resourcev1alpha3.PartitionTypeStatus) field.ErrorList {
	errs := requiredOr(p.Child("attribute"), s.Attribute, anyText)
	errs = append(errs, requiredOr(p.Child("type"), s.Type, anyText)...)
	errs = append(errs, requiredCount(p.Child("total"), s.Total)...)
	return append(errs, requiredCount(p.Child("allocatable"), s.Allocatable)...)
}

func anyText(string) []string { return nil }

func shareableSummary(p *field.Path, s *resourcev1alpha3.ShareableSummaryStatus) field.ErrorList {
	errs := requiredCount(p.Child("fullyAvailableDevices"), s.FullyAvailableDevices)
	errs = append(errs, requiredCount(p.Child("partiallyAvailableDevices"), s.PartiallyAvailableDevices)...)
	return append(errs, listOf(p.Child("capacity"), s.Capacity, maxPoolSummaries,
		func(p *field.Path, c *resourcev1alpha3.ShareableCapacityStatus) field.ErrorList {
			errs := requiredOr(p.Child("name"), c.Name, anyText)
			for _, amount := range []struct {
				name  string
				value *resource.Quantity
			}{{"total", c.Total}, {"consumed", c.Consumed}, {"available", c.Available}} {
				if amount.value == nil {
					errs = append(errs, field.Required(p.Child(amount.name), ""))
				}
			}
			return errs
		})...)
}
