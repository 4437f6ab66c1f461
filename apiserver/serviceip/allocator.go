package serviceip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// Config says what an Allocator allocates from. All but Ranges, NodePorts and Logger
// must be given.
type Config struct {
	// Services returns all Services as they are in the store now.
	Services func(ctx context.Context) ([]*corev1.Service, error)
	// CIDRs returns the ServiceCIDRs, the ones to be used first first.
	CIDRs func(ctx context.Context) ([]*networkingv1.ServiceCIDR, error)
	// Locks keeps the cluster IPs that are taken.
	Locks Locks
	// Store keeps the node ports that are taken, and Decoder reads them.
	Store   store.Store
	Decoder *codec.Decoder
	// Random chooses.
	Random *clock.Random
	Clock  clock.Clock
	// Ranges are what the default ServiceCIDR has: one network, or one of each
	// family, the default family first. It says which families the cluster has. Empty is
	// DefaultRange.
	Ranges []netip.Prefix
	// NodePorts is 30000-32767 by default.
	NodePorts PortRange
	Logger    klog.Logger
	// Report is told of what a repair finds, while it goes on; nil: it is logged only.
	Report func(ctx context.Context, r Report)
}

// DefaultRange is the network of cluster IPs when nothing is said.
func DefaultRange() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, 0}), 16) }

// Allocator gives out cluster IPs and node ports. It is safe for concurrent use.
type Allocator struct {
	config   Config
	families []corev1.IPFamily
	ips      *addresses
	ports    *ports

	// checking is held while the locks are compared with the Services.
	checking sync.Mutex
	checked  bool
	// leaks says since when a port has been found to be taken for nobody.
	leaks map[int32]time.Time
}

// New returns an allocator. It reads nothing before its first use.
func New(config Config) *Allocator {
	if len(config.Ranges) == 0 {
		config.Ranges = []netip.Prefix{DefaultRange()}
	}
	if config.NodePorts == (PortRange{}) {
		config.NodePorts = DefaultNodePorts()
	}
	return &Allocator{
		config:   config,
		families: familiesOf(config.Ranges),
		ips: &addresses{
			locks: config.Locks, cidrs: config.CIDRs, random: config.Random,
			known: map[netip.Addr]int64{}, picked: map[netip.Addr]bool{},
		},
		ports: &ports{store: config.Store, decoder: config.Decoder, valid: config.NodePorts},
		leaks: map[int32]time.Time{},
	}
}

// Outcome is what became of a write.
type Outcome int

// What can become of a write. Unknown is one whose answer did not come.
const (
	Unknown Outcome = iota
	Stored
	NotStored
)

// Allocate fills in what svc, which is about to be stored in place of old, needs
// and was not given: IP families, addresses and node ports. svc is changed; it has
// been validated and prepared. old is nil for a new Service; a nil svc says that old is
// about to be deleted. A dry run locks nothing.
//
// The caller calls done exactly once, when it knows whether svc was stored (or old
// deleted).
//
// A value that is out of range or taken is an Invalid error; that no value is left
// is an InternalError, as upstream's.
func (a *Allocator) Allocate(ctx context.Context, svc, old *corev1.Service, dryRun bool) (done func(Outcome), err error) {
	ctx, cancel := store.Detached(ctx) // what is half locked would stay so
	w := &write{Allocator: a, svc: svc, old: old, before: keysOf(old), dryRun: dryRun}
	end := func(outcome Outcome) {
		w.done(ctx, outcome)
		cancel()
	}
	if svc == nil {
		return end, nil
	}
	if err := a.check(ctx); err != nil {
		cancel()
		return nil, err
	}
	if err := w.fill(ctx); err != nil {
		end(NotStored)
		return nil, err
	}
	w.after = keysOf(svc)
	return end, nil
}

// check compares the locks with the Services before the first allocation: a store that
// was written by something that made no locks gets them now.
func (a *Allocator) check(ctx context.Context) error {
	a.checking.Lock()
	defer a.checking.Unlock()
	if a.checked {
		return nil
	}
	if err := a.repairLocked(ctx, false); err != nil {
		return err
	}
	a.checked = true
	return nil
}

// keys are the addresses and ports that a Service has.
type keys struct {
	ips   map[netip.Addr]bool
	ports map[int32]bool
}

// keysOf reads a Service that has been stored or is about to be.
func keysOf(svc *corev1.Service) keys {
	k := keys{ips: map[netip.Addr]bool{}, ports: map[int32]bool{}}
	if svc == nil || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return k
	}
	for _, text := range svc.Spec.ClusterIPs {
		if ip, ok := parseIP(text); ok {
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

// internalError is what a client is told when it is not to blame. What the API says
// already is passed on.
func internalError(format string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf(format, err))
}

func invalid(svc *corev1.Service, errs ...*field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, errs)
}
