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

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// Config configures New. All fields but Ranges, NodePorts, Logger and Report are
// required.
type Config struct {
	// Services returns all Services currently in the store.
	Services func(ctx context.Context) ([]*corev1.Service, error)
	// CIDRs returns the ServiceCIDRs in order of preference.
	CIDRs func(ctx context.Context) ([]*networkingv1.ServiceCIDR, error)
	// Locks stores the locks of cluster IPs.
	Locks Locks
	// Store has the allocated node ports, which Decoder decodes.
	Store   store.Store
	Decoder *codec.Decoder
	// Random selects addresses and ports.
	Random *clock.Random
	Clock  clock.Clock
	// Ranges are the networks of the default ServiceCIDR: one, or one of each family,
	// the default family first. They determine the cluster's families. Empty means
	// DefaultRange.
	Ranges []netip.Prefix
	// NodePorts defaults to 30000-32767.
	NodePorts PortRange
	Logger    klog.Logger
	// Report is called with the findings of a repair; nil: they are only logged.
	Report func(ctx context.Context, r Report)
}

// DefaultRange returns the default network of cluster IPs.
func DefaultRange() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, 0}), 16) }

// Allocator allocates cluster IPs and node ports. It is safe for concurrent use.
type Allocator struct {
	config   Config
	families []corev1.IPFamily
	ips      *addresses
	ports    *ports

	// checking is held while the locks are compared with the Services.
	checking sync.Mutex
	checked  bool
	// leaks has the time since when a port has been found allocated without a Service.
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

// Outcome is the outcome of a write.
type Outcome int

// The outcomes of a write. Unknown: the store did not respond.
const (
	Unknown Outcome = iota
	Stored
	NotStored
)

// Allocate sets the IP families, addresses and node ports that svc, which is about to be
// stored in place of old, needs and does not have yet. It modifies svc, which must have
// been validated and prepared. old is nil for a new Service; svc is nil if old is about
// to be deleted. A dry run locks nothing.
//
// The caller must call done exactly once, when it knows whether svc was stored (or old
// deleted).
//
// A value that is out of range or taken is an Invalid error; exhaustion is an
// InternalError, as upstream.
func (a *Allocator) Allocate(ctx context.Context, svc, old *corev1.Service, dryRun bool) (done func(Outcome), err error) {
	ctx, cancel := store.Detached(ctx) // an allocation must not stop halfway, with locks left behind
	w := &write{Allocator: a, svc: svc, old: old, before: keysOf(old), dryRun: dryRun}
	end := func(outcome Outcome) {
		undo, stop := store.Detached(ctx) // from a context that does not end with the request
		w.done(undo, outcome)
		stop()
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

// check compares the locks with the Services before the first allocation: in a store
// written by a program without locks, it creates them.
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

// keys are the addresses and ports of a Service.
type keys struct {
	ips   map[netip.Addr]bool
	ports map[int32]bool
}

// keysOf returns the keys of a stored Service, or of one that is about to be stored.
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

// internalError returns an error that is not the client's fault. API errors are returned
// unchanged.
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
