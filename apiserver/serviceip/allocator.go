package serviceip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/clock"
)

// Config says what an Allocator allocates from.
type Config struct {
	// List returns all Services as they are in the store now. It is called at the
	// first use, and when a wanted address or port is taken or none is left: what
	// another process freed is then found.
	List func(ctx context.Context) ([]*corev1.Service, error)
	// Random chooses; it must be given.
	Random *clock.Random
	// ClusterIPs is an IPv4 network, by default 10.96.0.0/16.
	ClusterIPs netip.Prefix
	// NodePorts is 30000-32767 by default.
	NodePorts PortRange
}

// Allocator gives out cluster IPs and node ports. It is safe for concurrent use.
type Allocator struct {
	config Config
	ips    addresses

	mu     sync.Mutex
	loaded bool
	used   *pool[netip.Addr]
	ports  *pool[int32]
}

// New returns an allocator that knows no Services before its first use.
func New(config Config) *Allocator {
	if !config.ClusterIPs.IsValid() {
		config.ClusterIPs = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, 0}), 16)
	}
	if config.NodePorts == (PortRange{}) {
		config.NodePorts = PortRange{First: 30000, Last: 32767}
	}
	return &Allocator{
		config: config,
		ips:    addresses{prefix: config.ClusterIPs},
		used:   newPool[netip.Addr](),
		ports:  newPool[int32](),
	}
}

// Allocate fills in what svc, which is about to be stored in place of old, needs
// and was not given: addresses, IP families and node ports. svc is changed; it has
// been validated and prepared, and has its UID. old is nil for a new Service; a nil
// svc says that old is about to be deleted.
//
// The caller calls done exactly once, when it knows whether svc was stored (or old
// deleted); for a dry run it was not.
//
// A value that is out of range or taken is an Invalid error; that no value is left
// is an InternalError, as upstream's.
func (a *Allocator) Allocate(ctx context.Context, svc, old *corev1.Service) (done func(stored bool), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.loaded {
		if err := a.load(ctx); err != nil {
			return nil, err
		}
	}
	w := &write{Allocator: a, owner: ownerOf(svc, old), before: keysOf(old)}
	if svc == nil {
		return w.done, nil
	}
	err = w.fill(svc)
	if errors.Is(err, errTaken) {
		w.abandon()
		if err := a.load(ctx); err != nil {
			return nil, err
		}
		err = w.fill(svc)
	}
	if err != nil {
		w.abandon()
		return nil, apiError(svc, err)
	}
	return w.done, nil
}

// load learns what the stored Services have.
func (a *Allocator) load(ctx context.Context) error {
	services, err := a.config.List(ctx)
	if err != nil {
		return fmt.Errorf("listing services to learn their addresses: %w", err)
	}
	clear(a.used.stored)
	clear(a.ports.stored)
	for _, svc := range services {
		a.remember(keysOf(svc), svc.UID)
	}
	a.loaded = true
	return nil
}

func (a *Allocator) remember(k keys, owner types.UID) {
	for ip := range k.ips {
		a.used.stored[ip] = owner
	}
	for port := range k.ports {
		a.ports.stored[port] = owner
	}
}

func ownerOf(svc, old *corev1.Service) types.UID {
	if old != nil {
		return old.UID
	}
	return svc.UID
}

// keys are the addresses and ports that a Service has.
type keys struct {
	ips   map[netip.Addr]bool
	ports map[int32]bool
}

// keysOf reads a stored Service. Its other addresses, of families that this
// cluster does not have, are nobody's business here.
func keysOf(svc *corev1.Service) keys {
	k := keys{ips: map[netip.Addr]bool{}, ports: map[int32]bool{}}
	if svc == nil || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return k
	}
	for _, text := range svc.Spec.ClusterIPs {
		if ip, err := netip.ParseAddr(text); err == nil {
			k.ips[ip] = true
		}
	}
	for i := range svc.Spec.Ports {
		if port := svc.Spec.Ports[i].NodePort; port != 0 {
			k.ports[port] = true
		}
	}
	if port := svc.Spec.HealthCheckNodePort; port != 0 {
		k.ports[port] = true
	}
	return k
}

// errTaken marks errors that may be gone once the store is looked at again.
var errTaken = errors.New("taken")

// takenError is a field error that says that a wanted value is somebody else's.
type takenError struct{ field *field.Error }

func (e takenError) Error() string        { return e.field.Error() }
func (e takenError) Is(target error) bool { return target == errTaken }

// fullError says that a range has nothing left.
type fullError struct{ what string }

func (e fullError) Error() string        { return "failed to allocate a " + e.what + ": range is full" }
func (e fullError) Is(target error) bool { return target == errTaken }

// apiError is what a client is told.
func apiError(svc *corev1.Service, err error) error {
	var taken takenError
	var wrong *field.Error
	switch {
	case errors.As(err, &taken):
		wrong = taken.field
	case !errors.As(err, &wrong):
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, field.ErrorList{wrong})
}

// Forget makes the next Allocate look at the store again. It is for when nobody
// knows what became of a write.
func (a *Allocator) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loaded = false
}
