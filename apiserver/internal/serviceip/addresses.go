package serviceip

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
)

// Locks stores the IPAddress objects.
type Locks interface {
	// Create creates the object and returns its revision, or an AlreadyExists error.
	Create(ctx context.Context, address *networkingv1.IPAddress) (int64, error)
	// Get returns the stored object, with its resourceVersion, or a NotFound error.
	Get(ctx context.Context, name string) (*networkingv1.IPAddress, error)
	// Delete deletes the object if its resourceVersion is revision. It returns a
	// Conflict or NotFound error otherwise.
	Delete(ctx context.Context, name string, revision int64) error
	// List returns all stored objects.
	List(ctx context.Context) ([]*networkingv1.IPAddress, error)
}

// ManagedBy is the value of the label ipaddress.kubernetes.io/managed-by on this
// package's locks, as upstream.
const ManagedBy = "ipallocator.k8s.io"

var (
	errTaken    = errors.New("provided IP is already allocated")
	errMismatch = errors.New("the provided network does not match the current range")
	errFull     = errors.New("range is full")
)

// addresses allocates cluster IPs. It is safe for concurrent use.
type addresses struct {
	locks  Locks
	cidrs  func(ctx context.Context) ([]*networkingv1.ServiceCIDR, error)
	random *clock.Random

	mu sync.Mutex
	// known are the addresses that this process knows to be locked, with the revision
	// of the lock; 0 if unknown. The store is authoritative: another process may have
	// locked other addresses and freed these.
	known map[netip.Addr]int64
	// picked are the addresses that this process is about to lock.
	picked map[netip.Addr]bool
}

// networks returns the networks of the ready ServiceCIDRs of one family.
func (a *addresses) networks(ctx context.Context, family corev1.IPFamily) ([]network, error) {
	cidrs, err := a.cidrs(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the ServiceCIDRs: %w", err)
	}
	var found []network
	for _, cidr := range cidrs {
		if cidr.DeletionTimestamp != nil || !isReady(cidr) {
			continue
		}
		for _, text := range cidr.Spec.CIDRs {
			prefix, err := netip.ParsePrefix(text)
			if err == nil && familyOf(prefix.Addr()) == family {
				found = append(found, newNetwork(prefix))
			}
		}
	}
	return found, nil
}

// isReady reports whether a ServiceCIDR may be used. Without a condition it may,
// because the controller that sets the condition may not be running.
func isReady(cidr *networkingv1.ServiceCIDR) bool {
	condition := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	return condition == nil || condition.Status == metav1.ConditionTrue
}

// check returns an error if a requested address cannot be allocated. It does not lock
// it.
func (a *addresses) check(ctx context.Context, ip netip.Addr) error {
	networks, err := a.networks(ctx, familyOf(ip))
	if err != nil {
		return err
	}
	for _, n := range networks {
		if n.contains(ip) {
			return nil
		}
	}
	return errMismatch
}

// take locks a requested address. If an interrupted write has left the address locked
// for the same Service, the Service gets it, and ours is false.
func (a *addresses) take(ctx context.Context, svc *corev1.Service, ip netip.Addr) (ours bool, err error) {
	if err := a.check(ctx, ip); err != nil {
		return false, err
	}
	err = a.lock(ctx, svc, ip)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	if svc.Namespace != metav1.NamespaceDefault || svc.Name != kubernetesService {
		return false, errTaken
	}
	// Only an apiserver creates that Service, and it cannot start without the address.
	lock, err := a.locks.Get(ctx, ip.String())
	if err != nil {
		return false, err
	}
	if !isFor(lock, svc) {
		return false, errTaken
	}
	return false, nil
}

const kubernetesService = "kubernetes"

// tried returns, for a dry run, an error if a requested address cannot be allocated.
func (a *addresses) tried(ctx context.Context, ip netip.Addr) error {
	if err := a.check(ctx, ip); err != nil {
		return err
	}
	_, err := a.locks.Get(ctx, ip.String())
	switch {
	case err == nil:
		return errTaken
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// reloadAfter is the number of unknown locks that a pick may meet before it reads all
// locks.
const reloadAfter = 4

// next locks a free address of the family; a dry run only finds one.
func (a *addresses) next(ctx context.Context, svc *corev1.Service, family corev1.IPFamily, dryRun bool) (netip.Addr, error) {
	networks, err := a.networks(ctx, family)
	if err != nil {
		return netip.Addr{}, err
	}
	for unknown, reloaded := 0, false; ; {
		ip, ok := a.pick(networks, chanceOf(a.random, svc), dryRun)
		switch {
		case ok && dryRun:
			return ip, nil
		case ok:
			err := a.lock(ctx, svc, ip)
			if err == nil {
				return ip, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return netip.Addr{}, err
			}
			unknown++
		case reloaded:
			return netip.Addr{}, errFull
		}
		if !reloaded && (!ok || unknown == reloadAfter) {
			if err := a.reload(ctx); err != nil {
				return netip.Addr{}, err
			}
			reloaded = true
		}
	}
}

// pick returns an address that is not known to be locked, and records it so that no
// other pick returns it.
func (a *addresses) pick(networks []network, random *clock.Random, dryRun bool) (netip.Addr, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range networks {
		static := n.static()
		for _, band := range [][2]uint64{{static, n.size}, {0, static}} {
			if ip, ok := a.pickLocked(n, random, band[0], band[1]); ok {
				if !dryRun {
					a.picked[ip] = true
				}
				return ip, true
			}
		}
	}
	return netip.Addr{}, false
}

// pickLocked tries the addresses with the indices from..to-1, starting at a random one.
// The caller holds mu.
func (a *addresses) pickLocked(n network, random *clock.Random, from, to uint64) (netip.Addr, bool) {
	size := to - from
	if size == 0 {
		return netip.Addr{}, false
	}
	start := random.Uint64() % size
	// At least one of this many addresses is not known to be locked.
	tries := min(size, uint64(len(a.known)+len(a.picked))+1)
	for k := range tries {
		// This form of the modulo does not overflow.
		i := start + k
		if i < start || i >= size {
			i -= size
		}
		if ip := n.at(from + i); !a.has(ip) {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

func (a *addresses) has(ip netip.Addr) bool {
	_, known := a.known[ip]
	return known || a.picked[ip]
}

// lock creates the object that reserves the address for the Service.
func (a *addresses) lock(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	revision, err := a.locks.Create(ctx, lockOf(svc, ip))
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.picked, ip)
	switch {
	case err == nil:
		a.known[ip] = revision
	case apierrors.IsAlreadyExists(err):
		a.known[ip] = 0
	default:
		// The lock may exist or not; a later pick finds out.
		delete(a.known, ip)
	}
	return err
}

// lockOf returns the lock of a Service's address.
func lockOf(svc *corev1.Service, ip netip.Addr) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip.String(),
			Labels: map[string]string{
				networkingv1.LabelIPAddressFamily: string(familyOf(ip)),
				networkingv1.LabelManagedBy:       ManagedBy,
			},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: "services", Namespace: svc.Namespace, Name: svc.Name,
		}},
	}
}

// isFor reports whether a lock belongs to the Service.
func isFor(lock *networkingv1.IPAddress, svc *corev1.Service) bool {
	ref := lock.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == "services" && ref.Namespace == svc.Namespace && ref.Name == svc.Name
}

// free deletes the lock of a Service's address. It does nothing if the lock is gone or
// belongs to another Service by now.
func (a *addresses) free(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	a.mu.Lock()
	revision := a.known[ip]
	a.mu.Unlock()
	if revision != 0 {
		err := a.locks.Delete(ctx, ip.String(), revision)
		if err == nil {
			a.forget(ip)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	lock, err := a.locks.Get(ctx, ip.String())
	if apierrors.IsNotFound(err) {
		a.forget(ip)
		return nil
	}
	if err != nil || !isFor(lock, svc) {
		return err
	}
	return a.remove(ctx, lock)
}

// remove deletes a lock if it is unchanged since it was read.
func (a *addresses) remove(ctx context.Context, lock *networkingv1.IPAddress) error {
	err := a.locks.Delete(ctx, lock.Name, revisionOf(lock))
	if err == nil || apierrors.IsNotFound(err) {
		if ip, parseErr := netip.ParseAddr(lock.Name); parseErr == nil {
			a.forget(ip)
		}
		return nil
	}
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (a *addresses) forget(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, ip)
}

// reload reads the locked addresses from the store.
func (a *addresses) reload(ctx context.Context) error {
	before := a.snapshot()
	locks, err := a.locks.List(ctx)
	if err != nil {
		return fmt.Errorf("listing the IPAddresses: %w", err)
	}
	a.learn(locks, before)
	return nil
}

func (a *addresses) snapshot() map[netip.Addr]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.known)
}

// learn replaces the addresses known before the locks were listed. Addresses learned
// since then are kept.
func (a *addresses) learn(locks []*networkingv1.IPAddress, before map[netip.Addr]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ip, revision := range before {
		if now, still := a.known[ip]; still && now == revision {
			delete(a.known, ip)
		}
	}
	for _, lock := range locks {
		if ip, err := netip.ParseAddr(lock.Name); err == nil {
			a.known[ip] = max(a.known[ip], revisionOf(lock))
		}
	}
}

func revisionOf(lock *networkingv1.IPAddress) int64 {
	revision, err := strconv.ParseInt(lock.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// chanceOf returns the Service's own random source: the addresses it gets do not depend
// on concurrent requests.
func chanceOf(random *clock.Random, svc *corev1.Service) *clock.Random {
	return random.Keyed("services/" + svc.Namespace + "/" + svc.Name)
}
