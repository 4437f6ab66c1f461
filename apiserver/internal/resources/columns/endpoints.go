package columns

import (
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Endpoints is the Table of core/v1 Endpoints.
func Endpoints() Table {
	return table(func(e *corev1.Endpoints, now time.Time) []any {
		return []any{e.Name, shorten(endpointAddresses(e), none), age(e.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"]),
		ageColumn(),
	)
}

func endpointAddresses(e *corev1.Endpoints) []string {
	var list []string
	for i := range e.Subsets {
		s := &e.Subsets[i]
		if len(s.Ports) == 0 {
			// The endpoints of a headless service may have no ports.
			for j := range s.Addresses {
				list = append(list, s.Addresses[j].IP)
			}
		}
		for j := range s.Ports {
			port := strconv.Itoa(int(s.Ports[j].Port))
			for k := range s.Addresses {
				list = append(list, net.JoinHostPort(s.Addresses[k].IP, port))
			}
		}
	}
	return list
}

// EndpointSlice is the Table of discovery.k8s.io/v1 EndpointSlices.
func EndpointSlice() Table {
	doc := discoveryv1.EndpointSlice{}.SwaggerDoc()
	return table(func(s *discoveryv1.EndpointSlice, now time.Time) []any {
		var addresses []string
		for i := range s.Endpoints {
			addresses = append(addresses, s.Endpoints[i].Addresses...)
		}
		return []any{
			s.Name,
			string(s.AddressType),
			shorten(slicePorts(s.Ports), unset),
			shorten(addresses, unset),
			age(s.CreationTimestamp, now),
		}
	},
		nameColumn(),
		text("AddressType", doc["addressType"]),
		text("Ports", doc["ports"]),
		text("Endpoints", doc["endpoints"]),
		ageColumn(),
	)
}

func slicePorts(ports []discoveryv1.EndpointPort) []string {
	list := make([]string, 0, len(ports))
	for i := range ports {
		switch p := &ports[i]; {
		case p.Port != nil:
			list = append(list, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			list = append(list, *p.Name)
		default:
			list = append(list, "*")
		}
	}
	return list
}
