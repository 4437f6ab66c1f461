package validation

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ResourceClaimUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	return immutable(field.NewPath("spec"), c.Spec, old.Spec)
}

func ResourceClaimTemplateUpdate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	return immutable(field.NewPath("spec"), t.Spec, old.Spec)
}

// ResourceClaimStatus validates the transition of a status: an allocation
// cannot be removed while the claim is reserved, and only an allocated claim can be
// reserved.
func ResourceClaimStatus(c, old *resourcev1.ResourceClaim) field.ErrorList {
	p, s := field.NewPath("status"), &c.Status
	errs := validateReservations(p.Child("reservedFor"), c, old)
	errs = append(errs, validateDeviceStatuses(p.Child("devices"), s)...)
	switch {
	case s.Allocation == nil:
	case old.Status.Allocation != nil:
		errs = append(errs, immutable(p.Child("allocation"), s.Allocation, old.Status.Allocation)...)
	default:
		errs = append(errs, validateAllocation(p.Child("allocation"), s.Allocation, requestNames(&c.Spec.Devices))...)
	}
	return errs
}

func validateReservations(p *field.Path, c, old *resourcev1.ResourceClaim) field.ErrorList {
	reserved := c.Status.ReservedFor
	errs := setOf(p, reserved, resourcev1.ResourceClaimReservedForMaxSize,
		func(r *resourcev1.ResourceClaimConsumerReference) string { return string(r.UID) },
		func(p *field.Path, r *resourcev1.ResourceClaimConsumerReference) field.ErrorList {
			return needs(p, "resource", r.Resource, "name", r.Name, "uid", string(r.UID))
		})
	added := func(r resourcev1.ResourceClaimConsumerReference) bool {
		return !slices.Contains(old.Status.ReservedFor, r)
	}
	switch {
	case len(reserved) == 0:
	case c.Status.Allocation == nil:
		errs = append(errs, field.Forbidden(p, "may not be specified when `allocated` is not set"))
	case c.DeletionTimestamp != nil && slices.ContainsFunc(reserved, added):
		errs = append(errs, field.Forbidden(p, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
	}
	return errs
}

func validateAllocation(p *field.Path, a *resourcev1.AllocationResult, known []string) field.ErrorList {
	at := p.Child("devices")
	errs := listOf(at.Child("results"), a.Devices.Results, resourcev1.AllocationResultsMaxSize,
		func(p *field.Path, r *resourcev1.DeviceRequestAllocationResult) field.ErrorList {
			errs := nameKnown(p.Child("request"), r.Request, known)
			errs = append(errs, validateDriverName(p.Child("driver"), r.Driver)...)
			errs = append(errs, validatePoolName(p.Child("pool"), r.Pool)...)
			errs = append(errs, invalidFor(p.Child("device"), r.Device, isDNSLabel(r.Device))...)
			errs = append(errs, validateBindingConditions(p, r.BindingConditions, r.BindingFailureConditions)...)
			return append(errs, validateShare(p.Child("shareID"), (*string)(r.ShareID))...)
		})
	errs = append(errs, listOf(at.Child("config"), a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize,
		func(p *field.Path, c *resourcev1.DeviceAllocationConfiguration) field.ErrorList {
			errs := requiredOneOf(p.Child("source"), c.Source, resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
			errs = append(errs, namesKnown(p.Child("requests"), c.Requests, known)...)
			return append(errs, validateDeviceConfiguration(p, &c.DeviceConfiguration)...)
		})...)
	if a.NodeSelector != nil {
		errs = append(errs, validateNodeSelector(p.Child("nodeSelector"), a.NodeSelector)...)
	}
	return errs
}

func validateShare(p *field.Path, id *string) field.ErrorList {
	if id == nil {
		return nil
	}
	if err := uuid.Validate(*id); err != nil {
		return field.ErrorList{field.Invalid(p, *id, "error validating uid: "+err.Error())}
	}
	if len(*id) != 36 || *id != strings.ToLower(*id) {
		return field.ErrorList{field.Invalid(p, *id, "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters")}
	}
	return nil
}

// DeviceKey returns a key that identifies a device of a claim.
func DeviceKey(driver, pool, device string, share *string) string {
	return strings.Join([]string{driver, pool, device, deref(share)}, "\x00")
}

func validateDeviceStatuses(p *field.Path, s *resourcev1.ResourceClaimStatus) field.ErrorList {
	var allocated []string
	if s.Allocation != nil {
		for _, r := range s.Allocation.Devices.Results {
			allocated = append(allocated, DeviceKey(r.Driver, r.Pool, r.Device, (*string)(r.ShareID)))
		}
	}
	key := func(d *resourcev1.AllocatedDeviceStatus) string {
		return DeviceKey(d.Driver, d.Pool, d.Device, d.ShareID)
	}
	return setOf(p, s.Devices, len(s.Devices), key, func(p *field.Path, d *resourcev1.AllocatedDeviceStatus) field.ErrorList {
		errs := validateDriverName(p.Child("driver"), d.Driver)
		errs = append(errs, validatePoolName(p.Child("pool"), d.Pool)...)
		errs = append(errs, invalidFor(p.Child("device"), d.Device, isDNSLabel(d.Device))...)
		errs = append(errs, validateShare(p.Child("shareID"), d.ShareID)...)
		if !slices.Contains(allocated, key(d)) {
			errs = append(errs, field.Invalid(p, strings.Join([]string{d.Driver, d.Pool, d.Device}, "/"), "must be an allocated device in the claim"))
		}
		if n := len(d.Conditions); n > resourcev1.AllocatedDeviceStatusMaxConditions {
			errs = append(errs, field.TooMany(p.Child("conditions"), n, resourcev1.AllocatedDeviceStatusMaxConditions))
		}
		errs = append(errs, metav1validation.ValidateConditions(d.Conditions, p.Child("conditions"))...)
		if d.Data != nil && len(d.Data.Raw) > 0 {
			errs = append(errs, validateRawObject(p.Child("data"), d.Data.Raw, resourcev1.AllocatedDeviceStatusDataMaxLength)...)
		}
		return append(errs, validateNetworkData(p.Child("networkData"), d.NetworkData)...)
	})
}

func validateNetworkData(p *field.Path, d *resourcev1.NetworkDeviceData) field.ErrorList {
	if d == nil {
		return nil
	}
	var errs field.ErrorList
	for _, text := range []struct {
		name, value string
		longest     int
	}{
		{"interfaceName", d.InterfaceName, resourcev1.NetworkDeviceDataInterfaceNameMaxLength},
		{"hardwareAddress", d.HardwareAddress, resourcev1.NetworkDeviceDataHardwareAddressMaxLength},
	} {
		if len(text.value) > text.longest {
			errs = append(errs, field.TooLong(p.Child(text.name), "", text.longest))
		}
	}
	return append(errs, setOf(p.Child("ips"), d.IPs, resourcev1.NetworkDeviceDataMaxIPs,
		func(ip *string) string { return *ip },
		func(p *field.Path, ip *string) field.ErrorList { return validation.IsValidInterfaceAddress(p, *ip) })...)
}
