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

// Locks is where the IPAddress objects are kept.
type Locks interface {
	// Create makes the object and returns the revision of that, or an AlreadyExists
	// error.
	Create(ctx context.Context, address *networkingv1.IPAddress) (int64, error)
	// Get returns the object as it is stored, with its resourceVersion, or a
	// NotFound error.
	Get(ctx context.Context, name string) (*networkingv1.IPAddress, error)
	// Delete removes the object if its resourceVersion is revision. It returns a
	// Conflict or NotFound error if it is not.
	Delete(ctx context.Context, name string, revision int64) error
	// List returns all of them, as they are stored.
	List(ctx context.Context) ([]*networkingv1.IPAddress, error)
}

// ManagedBy is the value of the label ipaddress.kubernetes.io/managed-by on the
// locks of this package, as upstream has it.
const ManagedBy = "ipallocator.k8s.io"

var (
	errTaken    = errors.New("provided IP is already allocated")
	errMismatch = errors.New("the provided network does not match the current range")
	errFull     = errors.New("range is full")
)

// addresses gives out cluster IPs. It is safe for concurrent use.
type addresses struct {
	locks  Locks
	cidrs  func(ctx context.Context) ([]*networkingv1.ServiceCIDR, error)
	random *clock.Random

	mu sync.Mutex
	// known are the addresses that this process knows to be locked, with the
	// revision of the lock; 0 if it does not know that. The store has the last word:
	// another process may have taken others, and freed these.
	known map[netip.Addr]int64
	// picked are those that this process is about to lock.
	picked map[netip.Addr]bool
}

// networks are those of the ServiceCIDRs that are ready, of one family.
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

// isReady holds as long as nobody has said otherwise: the controller that sets the
// condition may not be running.
func isReady(cidr *networkingv1.ServiceCIDR) bool {
	condition := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	return condition == nil || condition.Status == metav1.ConditionTrue
}

// check says whether an address that was asked for can be had, without locking it.
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

// take locks an address that was asked for. An address that a write which is gone
// has left locked for the very same Service is given to it, and is not ours.
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
	// Nobody else makes that Service, and a process that does not get it cannot start.
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

// tried says for a dry run whether an address that was asked for could be taken.
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

// reloadAfter is how often a pick may meet a lock that it did not know of before all
// locks are read.
const reloadAfter = 4

// next locks any address of the family; for a dry run it only finds one.
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

// pick returns an address that is not known to be locked, and notes it so that no
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

// pickLocked looks at the addresses from one index up to another, beginning anywhere.
func (a *addresses) pickLocked(n network, random *clock.Random, from, to uint64) (netip.Addr, bool) {
	size := to - from
	if size == 0 {
		return netip.Addr{}, false
	}
	start := random.Uint64() % size
	// Of so many, one at least is not known.
	tries := min(size, uint64(len(a.known)+len(a.picked))+1)
	for k := range tries {
		// Written so that nothing overflows.
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

// lock makes the object that says that the Service has the address.
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
		// It may be there, or not: a pick will find out.
		delete(a.known, ip)
	}
	return err
}

// lockOf is the object for an address of a Service.
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

// isFor reports whether a lock is the Service's.
func isFor(lock *networkingv1.IPAddress, svc *corev1.Service) bool {
	ref := lock.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == "services" && ref.Namespace == svc.Namespace && ref.Name == svc.Name
}

// free unlocks an address of the Service. A lock that is gone, or that is another's by
// now, is left as it is.
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

// remove deletes a lock if it is still as it was read.
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

// reload learns which addresses are locked in the store.
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

// learn replaces what was known before the locks were listed. What has become known
// since is kept.
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

// chanceOf is a Service's own: what it gets does not depend on who else asks meanwhile.
func chanceOf(random *clock.Random, svc *corev1.Service) *clock.Random {
	return random.Keyed("services/" + svc.Namespace + "/" + svc.Name)
}
