package serviceip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// RepairInterval is upstream's interval of repairs.
const RepairInterval = 3 * time.Minute

// grace is the minimum age of an address lock without a Service before it is deleted: the
// write of its Service ends before that.
const grace = time.Minute

// leakAfter is the time after which a port is freed if no pass has found a Service for it.
const leakAfter = 2 * RepairInterval

// Repair makes the locks match the Services. It locks the addresses and ports of Services that have no lock, and
// unlocks the ones without a Service: an address one minute after it was
// locked, a port after six minutes without a Service. It reports duplicate addresses and
// ports, and Services with addresses outside all ServiceCIDRs.
func (a *Allocator) Repair(ctx context.Context) error {
	a.checking.Lock()
	defer a.checking.Unlock()
	if err := a.repairLocked(ctx, true); err != nil {
		return err
	}
	a.checked = true
	return nil
}

// repairLocked adds missing locks and, with free, deletes unused ones. The caller holds
// checking.
func (a *Allocator) repairLocked(ctx context.Context, free bool) error {
	// List the locks before the Services: a listed lock is older than the read of the
	// Services.
	before := a.ips.snapshot()
	locks, err := a.config.Locks.List(ctx)
	if err != nil {
		return fmt.Errorf("listing the IPAddresses to compare them with the services: %w", err)
	}
	services, err := a.config.Services(ctx)
	if err != nil {
		return fmt.Errorf("listing services to learn their addresses: %w", err)
	}
	a.ips.learn(locks, before)
	owners := a.owners(ctx, services)
	byIP := map[netip.Addr]*networkingv1.IPAddress{}
	for _, lock := range locks {
		if ip, err := netip.ParseAddr(lock.Name); err == nil {
			byIP[ip] = lock
		}
	}
	for ip, svc := range owners {
		if err := a.ensureLock(ctx, svc, ip, byIP[ip]); err != nil {
			return err
		}
	}
	if free {
		for ip, lock := range byIP {
			if err := a.freeOrphan(ctx, lock, owners[ip]); err != nil {
				return err
			}
		}
	}
	return a.repairPorts(ctx, services, free)
}

// owners maps addresses to their Services. If several Services have an address, it is mapped to the first.
func (a *Allocator) owners(ctx context.Context, services []*corev1.Service) map[netip.Addr]*corev1.Service {
	owners := map[netip.Addr]*corev1.Service{}
	for _, svc := range services {
		for ip := range keysOf(svc).ips {
			if owners[ip] != nil {
				a.reportIP(ctx, svc, "ClusterIPAlreadyAllocated", "Cluster IP [%s]:%s was assigned to multiple services; please recreate service", familyOf(ip), ip)
				continue
			}
			owners[ip] = svc
		}
	}
	return owners
}

func nameOf(svc *corev1.Service) string {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}.String()
}

// ensureLock creates or repairs the lock of a Service's address.
func (a *Allocator) ensureLock(ctx context.Context, svc *corev1.Service, ip netip.Addr, lock *networkingv1.IPAddress) error {
	if lock != nil && isFor(lock, svc) && lock.Labels[networkingv1.LabelManagedBy] == ManagedBy &&
		lock.Labels[networkingv1.LabelIPAddressFamily] == string(familyOf(ip)) {
		return nil
	}
	if lock == nil {
		if err := a.ips.check(ctx, ip); err != nil {
			a.reportIP(ctx, svc, "ClusterIPOutOfRange", "Cluster IP %s is not within any configured Service CIDR; please recreate service", described(ip))
			return nil
		}
		a.reportIP(ctx, svc, "ClusterIPNotAllocated", "Cluster IP %s is not allocated; repairing", described(ip))
	} else if err := a.ips.remove(ctx, lock); err != nil {
		return fmt.Errorf("replacing the IPAddress %s: %w", ip, err)
	}
	if lock != nil {
		a.reportIP(ctx, svc, "ClusterIPNotAllocated", "the ClusterIP %s for Service %s has a wrong reference; repairing", described(ip), nameOf(svc))
	}
	err := a.ips.lock(ctx, svc, ip)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allocating the address %s of service %s: %w", ip, nameOf(svc), err)
	}
	return nil
}

// freeOrphan deletes a lock of this package without a Service, unless it is so young that
// its Service may still be stored.
func (a *Allocator) freeOrphan(ctx context.Context, lock *networkingv1.IPAddress, owner *corev1.Service) error {
	if owner != nil || lock.Labels[networkingv1.LabelManagedBy] != ManagedBy || a.config.Clock.Since(lock.CreationTimestamp.Time) <= grace {
		return nil
	}
	parent := types.NamespacedName{}
	if ref := lock.Spec.ParentRef; ref != nil {
		parent = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	a.reportIP(ctx, lock, "IPAddressNotAllocated", "IPAddress: %s for Service %s appears to have leaked: cleaning up", lock.Name, parent)
	if err := a.ips.remove(ctx, lock); err != nil {
		return fmt.Errorf("deleting the IPAddress %s, which no Service has: %w", lock.Name, err)
	}
	return nil
}

// repairPorts makes the bitmap of node ports match the Services.
func (a *Allocator) repairPorts(ctx context.Context, services []*corev1.Service, free bool) error {
	used := map[int32]*corev1.Service{}
	for _, svc := range services {
		for port := range keysOf(svc).ports {
			switch {
			case !a.config.NodePorts.contains(port):
				a.reportPort(ctx, svc, "PortOutOfRange", "Port %d is not within the port range %s; please recreate service", port, a.config.NodePorts)
			case used[port] != nil:
				a.reportPort(ctx, svc, "PortAlreadyAllocated", "Port %d was assigned to multiple services; please recreate service", port)
			default:
				used[port] = svc
			}
		}
	}
	if len(used) == 0 && !free {
		return nil // nothing to add, so nothing to read
	}
	var missing []int32
	err := a.ports.change(ctx, func(set portSet) error {
		missing = nil
		for port := range used {
			if !set.has(port) {
				missing = append(missing, port)
			}
			set.set(port, true)
		}
		if free {
			a.freeLeaks(set, used)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("comparing the node ports with the services: %w", err)
	}
	slices.Sort(missing)
	for _, port := range missing {
		a.reportPort(ctx, used[port], "PortNotAllocated", "Port %d is not allocated; repairing", port)
	}
	return nil
}

// freeLeaks records the ports without a Service, and frees ports that have been recorded for leakAfter.
func (a *Allocator) freeLeaks(set portSet, used map[int32]*corev1.Service) {
	for port := set.First; port <= set.Last; port++ {
		since, leaked := a.leaks[port]
		switch {
		case !set.has(port) || used[port] != nil:
			delete(a.leaks, port)
		case !leaked:
			a.leaks[port] = a.config.Clock.Now()
		case a.config.Clock.Since(since) >= leakAfter:
			a.config.Logger.Info("A node port appears to have leaked: cleaning up", "port", port)
			set.set(port, false)
		}
	}
}
