package serviceip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilnet "k8s.io/utils/net"
)

// write is one write of a Service.
type write struct {
	*Allocator
	svc, old *corev1.Service
	dryRun   bool
	// before has the keys of the old Service, after the keys of the new one.
	before, after keys
	// ips and taken are the addresses and ports that this write has locked.
	ips   []netip.Addr
	taken []int32
}

// done releases the keys that are not needed: if the write was stored, the old Service's keys
// that the new one does not have, otherwise the keys that this write has locked.
func (w *write) done(ctx context.Context, outcome Outcome) {
	if w.dryRun || outcome == Unknown {
		return
	}
	svc, ips, ports := w.svc, w.ips, w.taken
	if outcome == Stored {
		svc, ips, ports = w.old, nil, nil
		for ip := range w.before.ips {
			if !w.after.ips[ip] {
				ips = append(ips, ip)
			}
		}
		for port := range w.before.ports {
			if !w.after.ports[port] {
				ports = append(ports, port)
			}
		}
	}
	for _, ip := range ips {
		if err := w.Allocator.ips.free(ctx, svc, ip); err != nil {
			w.config.Logger.Error(err, "Cannot release a cluster IP; it is released later", "address", ip, "service", svc.Name, "namespace", svc.Namespace)
		}
	}
	if len(ports) == 0 {
		return
	}
	err := w.Allocator.ports.change(ctx, func(set portSet) error {
		for _, port := range ports {
			if set.contains(port) {
				set.set(port, false)
			}
		}
		return nil
	})
	if err != nil {
		w.config.Logger.Error(err, "Cannot release node ports; they are released later", "ports", ports, "service", svc.Name, "namespace", svc.Namespace)
	}
}

// fill sets the missing fields of svc, and locks its keys that the old Service does not
// have.
func (w *write) fill(ctx context.Context) error {
	if errs := fillFamilies(w.svc, w.old, w.families); len(errs) > 0 {
		return invalid(w.svc, errs...)
	}
	if err := w.fillAddresses(ctx); err != nil {
		return err
	}
	return w.fillPorts(ctx)
}

func parseIP(text string) (netip.Addr, bool) {
	ip, ok := netip.AddrFromSlice(utilnet.ParseIPSloppy(text))
	return ip.Unmap(), ok
}

func (w *write) fillAddresses(ctx context.Context) error {
	spec := &w.svc.Spec
	if spec.Type == corev1.ServiceTypeExternalName || spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	if w.old != nil && staysAsItIs(w.svc, w.old) {
		return nil
	}
	ips := slices.Clone(spec.ClusterIPs)
	for i, family := range spec.IPFamilies {
		if i < len(ips) {
			if err := w.takeAddress(ctx, ips[i]); err != nil {
				return err
			}
			continue
		}
		ip, err := w.Allocator.ips.next(ctx, w.svc, family, w.dryRun)
		switch {
		case errors.Is(err, errFull):
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", w.svc.Name, err))
		case err != nil:
			return internalError("failed to allocate IP: %w", err)
		}
		if !w.dryRun {
			w.ips = append(w.ips, ip)
		}
		ips = append(ips, ip.String())
	}
	if len(ips) > 0 {
		spec.ClusterIP, spec.ClusterIPs = ips[0], ips
	}
	return nil
}

// takeAddress locks an address that the client requests.
func (w *write) takeAddress(ctx context.Context, text string) error {
	ip, ok := parseIP(text)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("failed to parse service IP %q", text))
	}
	if w.before.ips[ip] {
		return nil
	}
	var err error
	if w.dryRun {
		err = w.Allocator.ips.tried(ctx, ip)
	} else {
		var ours bool
		if ours, err = w.Allocator.ips.take(ctx, w.svc, ip); ours {
			w.ips = append(w.ips, ip)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTaken), errors.Is(err, errMismatch):
		return invalid(w.svc, field.Invalid(field.NewPath("spec", "clusterIPs"), slices.Clone(w.svc.Spec.ClusterIPs), fmt.Sprintf("failed to allocate IP %s: %v", text, err)))
	}
	return internalError("failed to allocate IP "+text+": %w", err)
}

// portFilling has the new ports of a Service, and those among them that are newly
// allocated.
type portFilling struct {
	ports       []corev1.ServicePort
	healthCheck int32
	taken       []int32
}

func (w *write) fillPorts(ctx context.Context) error {
	spec := &w.svc.Spec
	if !usesNodePorts(spec.Type) || !w.lacksPorts() {
		return nil
	}
	var filled portFilling
	apply := func(set portSet) error {
		filled = portFilling{ports: slices.Clone(spec.Ports), healthCheck: spec.HealthCheckNodePort}
		return w.fillSet(&filled, set)
	}
	var err error
	if w.dryRun {
		err = w.Allocator.ports.look(ctx, apply)
	} else {
		err = w.Allocator.ports.change(ctx, apply)
	}
	if err != nil {
		return internalError("failed to allocate a nodePort: %w", err)
	}
	spec.Ports, spec.HealthCheckNodePort, w.taken = filled.ports, filled.healthCheck, filled.taken
	return nil
}

func usesNodePorts(t corev1.ServiceType) bool {
	return t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer
}

func needsHealthCheck(svc *corev1.Service) bool {
	return svc != nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// picksPorts reports whether the Service gets node ports without requesting them.
func (w *write) picksPorts() bool {
	spec := &w.svc.Spec
	return spec.Type == corev1.ServiceTypeNodePort || spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts
}

// lacksPorts reports whether there are ports to allocate, which requires a write.
func (w *write) lacksPorts() bool {
	for _, port := range w.svc.Spec.Ports {
		if port.NodePort == 0 && w.picksPorts() || port.NodePort != 0 && !w.before.ports[port.NodePort] {
			return true
		}
	}
	return needsHealthCheck(w.svc) && !needsHealthCheck(w.old)
}

// fillSet allocates the Service's ports in the set.
func (w *write) fillSet(f *portFilling, set portSet) error {
	at := field.NewPath("spec", "ports")
	for i := range f.ports {
		number := f.ports[i].NodePort
		if number == 0 || w.before.ports[number] || slices.Contains(f.taken, number) {
			continue
		}
		if err := set.take(number); err != nil {
			return invalid(w.svc, field.Invalid(at.Index(i).Child("nodePort"), number, err.Error()))
		}
		f.taken = append(f.taken, number)
	}
	if w.picksPorts() {
		if err := w.pickPorts(f, set); err != nil {
			return err
		}
	}
	if needsHealthCheck(w.svc) && !needsHealthCheck(w.old) {
		return w.fillHealthCheck(f, set)
	}
	return nil
}

// pickPorts allocates node ports for the ports without one. Ports of a new Service that
// differ only in their protocol share one.
func (w *write) pickPorts(f *portFilling, set portSet) error {
	type use struct {
		protocol corev1.Protocol
		nodePort int32
	}
	shared, used := map[int32]int32{}, map[use]bool{}
	for _, port := range f.ports {
		if port.NodePort != 0 {
			used[use{port.Protocol, port.NodePort}] = true
			if w.old == nil && shared[port.Port] == 0 {
				shared[port.Port] = port.NodePort
			}
		}
	}
	for i := range f.ports {
		port := &f.ports[i]
		if port.NodePort != 0 {
			continue
		}
		number := shared[port.Port]
		if number == 0 || used[use{port.Protocol, number}] {
			var err error
			if number, err = set.next(chanceOf(w.config.Random, w.svc)); err != nil {
				return err
			}
			f.taken = append(f.taken, number)
		}
		port.NodePort = number
		used[use{port.Protocol, number}] = true
		if w.old == nil {
			shared[port.Port] = number
		}
	}
	return nil
}

func (w *write) fillHealthCheck(f *portFilling, set portSet) error {
	if f.healthCheck == 0 {
		number, err := set.next(chanceOf(w.config.Random, w.svc))
		if err != nil {
			return fmt.Errorf("failed to allocate a HealthCheck NodePort 0: %w", err)
		}
		f.healthCheck = number
		f.taken = append(f.taken, number)
		return nil
	}
	if w.before.ports[f.healthCheck] {
		return nil
	}
	if err := set.take(f.healthCheck); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", f.healthCheck, err))
	}
	f.taken = append(f.taken, f.healthCheck)
	return nil
}
