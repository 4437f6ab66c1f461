package validation

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxSliceEndpoints     = 1000
	maxSlicePorts         = 20000
	maxEndpointAddresses  = 100
	maxEndpointTopologies = 8
)

func Endpoints(e *corev1.Endpoints) field.ErrorList {
	var errs field.ErrorList
	for i := range e.Subsets {
		subset, p := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(subset.Addresses) == 0 && len(subset.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(p, "must specify `addresses` or `notReadyAddresses`"))
		}
		errs = append(errs, validateEndpointAddresses(p.Child("addresses"), subset.Addresses)...)
		errs = append(errs, validateEndpointAddresses(p.Child("notReadyAddresses"), subset.NotReadyAddresses)...)
		for j := range subset.Ports {
			port, at := &subset.Ports[j], p.Child("ports").Index(j)
			if port.Name != "" {
				errs = append(errs, invalidFor(at.Child("name"), port.Name, isDNSLabel(port.Name))...)
			} else if len(subset.Ports) > 1 {
				errs = append(errs, field.Required(at.Child("name"), ""))
			}
			errs = append(errs, validatePort(at.Child("port"), port.Port)...)
			errs = append(errs, validateProtocol(at.Child("protocol"), port.Protocol)...)
			if port.AppProtocol != nil {
				errs = append(errs, invalidFor(at.Child("appProtocol"), port.AppProtocol, isQualifiedName(*port.AppProtocol))...)
			}
		}
	}
	return errs
}

func validateEndpointAddresses(p *field.Path, addresses []corev1.EndpointAddress) field.ErrorList {
	var errs field.ErrorList
	for i := range addresses {
		a, at := &addresses[i], p.Index(i)
		errs = append(errs, validateReachableIP(at.Child("ip"), a.IP, true)...)
		errs = append(errs, optional(at.Child("hostname"), a.Hostname, isDNSLabel)...)
		if a.NodeName != nil {
			errs = append(errs, invalidFor(at.Child("nodeName"), *a.NodeName, isDNSSubdomain(*a.NodeName))...)
		}
	}
	return errs
}

func EndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := requiredOneOf(field.NewPath("addressType"), s.AddressType,
		discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	p := field.NewPath("endpoints")
	if n := len(s.Endpoints); n > maxSliceEndpoints {
		return append(errs, field.TooMany(p, n, maxSliceEndpoints))
	}
	for i := range s.Endpoints {
		errs = append(errs, validateSliceEndpoint(p.Index(i), &s.Endpoints[i], s.AddressType)...)
	}
	return append(errs, validateSlicePorts(field.NewPath("ports"), s.Ports)...)
}

func validateSliceEndpoint(p *field.Path, e *discoveryv1.Endpoint, addressType discoveryv1.AddressType) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("addresses")
	switch n := len(e.Addresses); {
	case n == 0:
		errs = append(errs, field.Required(at, "must contain at least 1 address"))
	case n > maxEndpointAddresses:
		errs = append(errs, field.TooMany(at, n, maxEndpointAddresses))
	}
	for i, address := range e.Addresses {
		errs = append(errs, validateSliceAddress(at.Index(i), address, addressType)...)
	}
	if e.NodeName != nil {
		errs = append(errs, invalidFor(p.Child("nodeName"), *e.NodeName, isDNSSubdomain(*e.NodeName))...)
	}
	if topology := p.Child("deprecatedTopology"); len(e.DeprecatedTopology) > maxEndpointTopologies {
		errs = append(errs, field.TooMany(topology, len(e.DeprecatedTopology), maxEndpointTopologies))
	} else {
		errs = append(errs, metav1validation.ValidateLabels(e.DeprecatedTopology, topology)...)
	}
	if e.Hostname != nil {
		errs = append(errs, invalidFor(p.Child("hostname"), *e.Hostname, isDNSLabel(*e.Hostname))...)
	}
	if e.Hints == nil {
		return errs
	}
	var zones nameList
	for i, zone := range e.Hints.ForZones {
		at := p.Child("hints", "forZones").Index(i).Child("name")
		errs = append(errs, zones.add(at, zone.Name)...)
		errs = append(errs, invalidFor(at, zone.Name, validation.IsValidLabelValue(zone.Name))...)
	}
	return errs
}

func validateSliceAddress(p *field.Path, address string, addressType discoveryv1.AddressType) field.ErrorList {
	ip, err := netip.ParseAddr(address)
	switch addressType {
	case discoveryv1.AddressTypeIPv4:
		if err != nil || !ip.Is4() {
			return field.ErrorList{field.Invalid(p, address, "must be a valid IPv4 address")}
		}
		return validateReachableIP(p, address, true)
	case discoveryv1.AddressTypeIPv6:
		if err != nil || !ip.Is6() {
			return field.ErrorList{field.Invalid(p, address, "must be a valid IPv6 address")}
		}
		if errs := validation.IsValidIP(p, address); len(errs) > 0 {
			return errs
		}
		return validateReachableIP(p, address, true)
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(p, address)
	}
	return nil
}

func validateSlicePorts(p *field.Path, ports []discoveryv1.EndpointPort) field.ErrorList {
	if n := len(ports); n > maxSlicePorts {
		return field.ErrorList{field.TooMany(p, n, maxSlicePorts)}
	}
	var errs field.ErrorList
	var names nameList
	for i := range ports {
		port, at := &ports[i], p.Index(i)
		name := deref(port.Name)
		errs = append(errs, optional(at.Child("name"), name, isDNSLabel)...)
		errs = append(errs, names.add(at.Child("name"), name)...)
		if port.Protocol == nil {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, validateProtocol(at.Child("protocol"), *port.Protocol)...)
		}
		if port.AppProtocol != nil {
			errs = append(errs, invalidFor(at.Child("appProtocol"), port.AppProtocol, isQualifiedName(*port.AppProtocol))...)
		}
	}
	return errs
}

func EndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	return immutable(field.NewPath("addressType"), s.AddressType, old.AddressType)
}
