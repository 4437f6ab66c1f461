package services

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/storage"
)

// endpoint is the address that a server advertises.
type endpoint struct {
	ip   netip.Addr
	port int32
}

// simulatedAddress returns the address that a machine without a network advertises.
// Endpoints must not contain a loopback address, so it is one reserved for
// documentation (RFC 5737 and RFC 3849).
func simulatedAddress(ipv4 bool) netip.Addr {
	if ipv4 {
		return netip.AddrFrom4([4]byte{192, 0, 2, 1})
	}
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1})
}

// Advertised returns the address to advertise: Options.AdvertiseAddress if set, else the
// address listened on, else the first address of the machine that Endpoints may
// contain, else a simulated one.
func (s *Services) Advertised(bound string) netip.Addr {
	if s.opts.AdvertiseAddress.IsValid() {
		return s.opts.AdvertiseAddress
	}
	if ip, err := netip.ParseAddr(bound); err == nil && reachable(ip) {
		return ip
	}
	ipv4 := s.Ranges()[0].Addr().Is4()
	machine, err := net.InterfaceAddrs()
	if err != nil {
		s.opts.Logger.Info("Cannot read the machine's addresses", "err", err)
	}
	for _, address := range machine {
		prefix, err := netip.ParsePrefix(address.String())
		if err == nil && prefix.Addr().Is4() == ipv4 && reachable(prefix.Addr()) {
			return prefix.Addr()
		}
	}
	return simulatedAddress(ipv4)
}

// reachable reports whether Endpoints may contain the address.
func reachable(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
}

// AdvertiseAt records the address that the server listens on and advertises it. A
// failure is logged only, because the server works without; Repair tries again.
func (s *Services) AdvertiseAt(ctx context.Context, ip netip.Addr, listening net.Addr) {
	bound, err := netip.ParseAddrPort(listening.String())
	if err != nil {
		return
	}
	at := endpoint{ip, int32(bound.Port())}
	s.listening.Store(&at)
	if err := s.advertise(ctx, at); err != nil {
		s.opts.Logger.Error(err, "Advertising the server")
	}
}

// Readvertise updates the endpoints if a server has come or gone.
func (s *Services) Readvertise(ctx context.Context) {
	if at := s.listening.Load(); at != nil {
		if err := s.advertise(ctx, *at); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error(err, "Advertising the servers")
		}
	}
}

// advertise writes the addresses of the live servers to the endpoints of the Service
// "kubernetes", in the same form as upstream.
func (s *Services) advertise(ctx context.Context, at endpoint) error {
	servers, err := s.servers(ctx, at)
	if err != nil {
		return err
	}
	endpoints := corev1.SchemeGroupVersion.WithKind("Endpoints")
	if err := s.putOwn(ctx, endpoints, kubernetesName, func(current runtime.Object) ownObject {
		was, _ := current.(*corev1.Endpoints)
		return ownEndpoints(was, servers)
	}); err != nil {
		return fmt.Errorf("writing the endpoints of the service kubernetes: %w", err)
	}
	groups := sliceGroups(servers)
	for _, g := range groups {
		if err := s.putOwn(ctx, sliceKind, g.name, func(current runtime.Object) ownObject {
			was, _ := current.(*discoveryv1.EndpointSlice)
			return ownSlice(was, g)
		}); err != nil {
			return fmt.Errorf("writing the endpoint slice %s of the service kubernetes: %w", g.name, err)
		}
	}
	return s.removeSlices(ctx, groups)
}

// ownObject is an object that the server makes itself.
type ownObject interface {
	runtime.Object
	metav1.Object
}

// putOwn creates or updates an object in the namespace default. change gets the current
// object, or nil, and returns the wanted one.
func (s *Services) putOwn(ctx context.Context, kind schema.GroupVersionKind, name string, change func(current runtime.Object) ownObject) error {
	row := s.opts.Row(kind)
	objects := s.opts.Objects(row.GVR())
	key := objects.Key(metav1.NamespaceDefault, name)
	if s.opts.SharedStore && s.opts.Started() { // it is compared every few seconds
		if known, err := objects.Known(ctx, key); err == nil && known != nil && apiequality.Semantic.DeepEqual(known, change(known)) {
			return nil
		}
	}
	created := change(nil)
	if err := s.opts.Preparer.Create(row, created); err != nil {
		return err
	}
	s.opts.Fields.TrackOwn(row, created, s.opts.Preparer.Now())
	// Create first, so that a new cluster does not start a watch cache for this.
	_, err := objects.Create(ctx, key, created, false)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = objects.Update(ctx, key, name, func(current runtime.Object) (runtime.Object, error) {
		changed := change(current)
		if apiequality.Semantic.DeepEqual(current, changed) {
			return current, nil
		}
		s.opts.Fields.TrackAs(row, changed, current, "", fieldmanager.ServerName, s.opts.Preparer.Now())
		return changed, s.opts.Preparer.Update(row, "", changed, current)
	}, storage.UpdateOptions{})
	return err
}

// ownEndpoints lists servers in one subset for each port.
func ownEndpoints(was *corev1.Endpoints, servers []endpoint) *corev1.Endpoints {
	now := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: kubernetesName}}
	if was != nil {
		now = was.DeepCopy()
	}
	setLabel(&now.ObjectMeta, discoveryv1.LabelSkipMirror, "true")
	now.Subsets = nil
	for i, server := range servers {
		if i == 0 || servers[i-1].port != server.port {
			now.Subsets = append(now.Subsets, corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: portName, Port: server.port, Protocol: corev1.ProtocolTCP}}})
		}
		subset := &now.Subsets[len(now.Subsets)-1]
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: server.ip.String()})
	}
	return now
}

func setLabel(m *metav1.ObjectMeta, key, value string) {
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	m.Labels[key] = value
}
