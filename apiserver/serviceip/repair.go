package serviceip

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// RepairInterval is how often upstream compares locks and Services.
const RepairInterval = 3 * time.Minute

// grace is how old a lock has to be before it can be nobody's: a write of the Service
// that it is for ends before that.
const grace = time.Minute

// leakAfter is for how long every pass must have found that a port is nobody's.
const leakAfter = 2 * RepairInterval

// Repair makes the locks say what the Services have: it locks what a Service has
// without a lock, and unlocks what is nobody's: an address a minute after it was locked, a
// port when that has been so for six minutes. Two Services that have the
// same address or port, and Services with addresses outside all ServiceCIDRs, are
// logged.
func (a *Allocator) Repair(ctx context.Context) error {
	a.checking.Lock()
	defer a.checking.Unlock()
	if err := a.repairLocked(ctx, true); err != nil {
		return err
	}
	a.checked = true
	return nil
}

// repairLocked only adds locks unless it is to free others too.
func (a *Allocator) repairLocked(ctx context.Context, free bool) error {
	// The locks first: a lock that is in the list was made before the Services were
	// read.
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
	owners := a.owners(services)
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

// owners says which Service has an address; the first of several that do.
func (a *Allocator) owners(services []*corev1.Service) map[netip.Addr]*corev1.Service {
	owners := map[netip.Addr]*corev1.Service{}
	for _, svc := range services {
		for ip := range keysOf(svc).ips {
			if other := owners[ip]; other != nil {
				a.config.Logger.Info("Two services have the same cluster IP; please recreate one", "address", ip,
					"service", nameOf(svc), "other", nameOf(other))
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

// ensureLock makes the lock of an address that a Service has.
func (a *Allocator) ensureLock(ctx context.Context, svc *corev1.Service, ip netip.Addr, lock *networkingv1.IPAddress) error {
	if lock != nil && isFor(lock, svc) && lock.Labels[networkingv1.LabelManagedBy] == ManagedBy &&
		lock.Labels[networkingv1.LabelIPAddressFamily] == string(familyOf(ip)) {
		return nil
	}
	if lock == nil {
		if err := a.ips.check(ctx, ip); err != nil {
			a.config.Logger.Info("A service has a cluster IP that is in no service CIDR; please recreate it", "address", ip, "service", nameOf(svc), "err", err)
			return nil
		}
	} else if err := a.ips.remove(ctx, lock); err != nil {
		return fmt.Errorf("replacing the IPAddress %s: %w", ip, err)
	}
	a.config.Logger.Info("A cluster IP is not allocated to the service that has it; repairing", "address", ip, "service", nameOf(svc))
	err := a.ips.lock(ctx, svc, ip)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allocating the address %s of service %s: %w", ip, nameOf(svc), err)
	}
	return nil
}

// freeOrphan removes one of our locks that is no Service's, unless it is so young that
// its Service may be on its way.
func (a *Allocator) freeOrphan(ctx context.Context, lock *networkingv1.IPAddress, owner *corev1.Service) error {
	if owner != nil || lock.Labels[networkingv1.LabelManagedBy] != ManagedBy || a.config.Clock.Since(lock.CreationTimestamp.Time) <= grace {
		return nil
	}
	a.config.Logger.Info("An IPAddress appears to have leaked: cleaning up", "address", lock.Name, "parent", lock.Spec.ParentRef)
	if err := a.ips.remove(ctx, lock); err != nil {
		return fmt.Errorf("removing the IPAddress %s that is nobody's: %w", lock.Name, err)
	}
	return nil
}

// repairPorts does for node ports what the others do for addresses.
func (a *Allocator) repairPorts(ctx context.Context, services []*corev1.Service, free bool) error {
	used := map[int32]bool{}
	for _, svc := range services {
		for port := range keysOf(svc).ports {
			switch {
			case !a.config.NodePorts.contains(port):
				a.config.Logger.Info("A service has a node port outside the range; please recreate it", "port", port, "service", nameOf(svc), "range", a.config.NodePorts.String())
			case used[port]:
				a.config.Logger.Info("A node port is used by several services; please recreate one", "port", port, "service", nameOf(svc))
			default:
				used[port] = true
			}
		}
	}
	if len(used) == 0 && !free {
		return nil // nothing to add, so that nothing needs to be read
	}
	err := a.ports.change(ctx, func(set portSet) error {
		for port := range used {
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
	return nil
}

// freeLeaks notes which ports are nobody's, and frees those that have been for long.
func (a *Allocator) freeLeaks(set portSet, used map[int32]bool) {
	for port := set.First; port <= set.Last; port++ {
		since, leaked := a.leaks[port]
		switch {
		case !set.has(port) || used[port]:
			delete(a.leaks, port)
		case !leaked:
			a.leaks[port] = a.config.Clock.Now()
		case a.config.Clock.Since(since) >= leakAfter:
			a.config.Logger.Info("A node port appears to have leaked: cleaning up", "port", port)
			set.set(port, false)
		}
	}
}
