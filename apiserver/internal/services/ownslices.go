package services

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/store"
)

const (
	portName = "https"
	// managedBy marks the slices of servers that do not fit into the slice "kubernetes".
	managedBy = "apiserver.minikcm.dev"
)

var (
	sliceKind     = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	sliceResource = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

// sliceGroup has the servers that one EndpointSlice lists, which share a port and a family of addresses.
type sliceGroup struct {
	name    string
	family  discoveryv1.AddressType
	port    int32
	servers []endpoint
}

// sliceGroups divides sorted servers. The first group has the name of upstream's slice.
func sliceGroups(servers []endpoint) []*sliceGroup {
	var groups []*sliceGroup
	for _, server := range servers {
		family, short := discoveryv1.AddressTypeIPv4, "ipv4"
		if server.ip.Is6() {
			family, short = discoveryv1.AddressTypeIPv6, "ipv6"
		}
		last := len(groups) - 1
		if last < 0 || groups[last].port != server.port || groups[last].family != family {
			name := kubernetesName
			if last >= 0 {
				name = fmt.Sprintf("%s-%s-%d", kubernetesName, short, server.port)
			}
			groups = append(groups, &sliceGroup{name: name, family: family, port: server.port})
			last++
		}
		groups[last].servers = append(groups[last].servers, server)
	}
	return groups
}

// ownSlice returns the slice of a group.
func ownSlice(was *discoveryv1.EndpointSlice, g *sliceGroup) *discoveryv1.EndpointSlice {
	now := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: g.name}}
	if was != nil {
		now = was.DeepCopy()
	}
	setLabel(&now.ObjectMeta, discoveryv1.LabelServiceName, kubernetesName)
	if g.name != kubernetesName {
		setLabel(&now.ObjectMeta, discoveryv1.LabelManagedBy, managedBy)
	}
	name, protocol, port, ready := portName, corev1.ProtocolTCP, g.port, true
	now.AddressType = g.family
	now.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}}
	now.Endpoints = nil
	for _, server := range g.servers {
		now.Endpoints = append(now.Endpoints, discoveryv1.Endpoint{Addresses: []string{server.ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	return now
}

// removeSlices removes the slices of groups that are no more.
func (s *Services) removeSlices(ctx context.Context, groups []*sliceGroup) error {
	if !s.opts.SharedStore {
		return nil
	}
	wanted := map[string]bool{}
	for _, g := range groups {
		wanted[g.name] = true
	}
	objects := s.opts.Objects(sliceResource)
	known, err := objects.KnownIn(ctx, metav1.NamespaceDefault)
	if err != nil {
		return fmt.Errorf("listing the endpoint slices of the service kubernetes: %w", err)
	}
	for _, obj := range known {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelManagedBy] != managedBy || wanted[slice.Name] {
			continue
		}
		revision, err := storage.ParseRevision(slice.ResourceVersion)
		if err != nil {
			return err
		}
		_, err = objects.Remove(ctx, objects.Key(metav1.NamespaceDefault, slice.Name), revision)
		if conflict := (*store.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
			return fmt.Errorf("removing the endpoint slice %s of the service kubernetes: %w", slice.Name, err)
		}
	}
	return nil
}
