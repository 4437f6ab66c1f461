package serviceip

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// world is the state that the allocators of several processes share: the store's
// Services, ServiceCIDRs and locks.
type world struct {
	store    store.Store
	services map[types.UID]*corev1.Service
	cidrs    []*networkingv1.ServiceCIDR
	locks    *lockTable
	clock    *clock.Virtual
}

func newWorld(t interface{ Cleanup(func()) }, cidrs ...string) *world {
	w := &world{store: store.NewMemory(), services: map[types.UID]*corev1.Service{}}
	w.clock = clock.NewVirtual(clock.Real().Now(), clock.NewLedger())
	t.Cleanup(w.clock.Close)
	w.locks = &lockTable{clock: w.clock, byName: map[string]*networkingv1.IPAddress{}}
	w.addCIDR("kubernetes", cidrs...)
	return w
}

func (w *world) addCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
	w.cidrs = append(w.cidrs, cidr)
	return cidr
}

// process returns an allocator with its own state over the world.
func (w *world) process(seed uint64, ports PortRange) *process {
	var ranges []netip.Prefix
	for _, text := range w.cidrs[0].Spec.CIDRs {
		ranges = append(ranges, netip.MustParsePrefix(text))
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return &process{w, New(Config{
		Services:  func(context.Context) ([]*corev1.Service, error) { return slices.Collect(maps.Values(w.services)), nil },
		CIDRs:     func(context.Context) ([]*networkingv1.ServiceCIDR, error) { return w.cidrs, nil },
		Locks:     w.locks,
		Store:     w.store,
		Decoder:   codec.NewDecoder(scheme),
		Random:    clock.NewRandom(seed),
		Clock:     w.clock,
		Ranges:    ranges,
		NodePorts: ports,
		Logger:    klog.Background(),
	})}
}

type process struct {
	*world
	*Allocator
}

// put allocates for svc and stores it.
func (p *process) put(svc *corev1.Service) error {
	done, err := p.Allocate(context.Background(), svc, p.services[svc.UID], false)
	if err != nil {
		return err
	}
	p.services[svc.UID] = svc
	done(Stored)
	return nil
}

func (p *process) remove(t *testing.T, uid types.UID) {
	t.Helper()
	done, err := p.Allocate(t.Context(), nil, p.services[uid], false)
	if err != nil {
		t.Fatal(err)
	}
	delete(p.services, uid)
	done(Stored)
}

// lockTable is an implementation of Locks in memory.
type lockTable struct {
	clock clock.Clock

	mu       sync.Mutex
	revision int64
	byName   map[string]*networkingv1.IPAddress
	// fail, if not nil, is the error of Create.
	fail error
}

func (l *lockTable) Create(_ context.Context, address *networkingv1.IPAddress) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	if l.byName[address.Name] != nil {
		return 0, apierrors.NewAlreadyExists(networkingv1.Resource("ipaddresses"), address.Name)
	}
	l.revision++
	address.ResourceVersion = strconv.FormatInt(l.revision, 10)
	address.CreationTimestamp = metav1.NewTime(l.clock.Now())
	l.byName[address.Name] = address
	return l.revision, nil
}

func (l *lockTable) Get(_ context.Context, name string) (*networkingv1.IPAddress, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock := l.byName[name]; lock != nil {
		return lock, nil
	}
	return nil, apierrors.NewNotFound(networkingv1.Resource("ipaddresses"), name)
}

func (l *lockTable) Delete(_ context.Context, name string, revision int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch lock := l.byName[name]; {
	case lock == nil:
		return apierrors.NewNotFound(networkingv1.Resource("ipaddresses"), name)
	case lock.ResourceVersion != strconv.FormatInt(revision, 10):
		return apierrors.NewConflict(networkingv1.Resource("ipaddresses"), name, nil)
	}
	delete(l.byName, name)
	return nil
}

func (l *lockTable) List(context.Context) ([]*networkingv1.IPAddress, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.byName)), nil
}

func service(uid string, change func(spec *corev1.ServiceSpec)) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "default", UID: types.UID(uid)}}
	svc.Spec.Type = corev1.ServiceTypeClusterIP
	svc.Spec.Selector = map[string]string{"app": uid}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	if change != nil {
		change(&svc.Spec)
	}
	return svc
}

func withIP(ips ...string) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) { spec.ClusterIP, spec.ClusterIPs = ips[0], ips }
}

func withNodePort(port int32) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) {
		spec.Type = corev1.ServiceTypeNodePort
		spec.Ports[0].NodePort = port
	}
}

// takenPorts returns the ports that are allocated in the stored set.
func (p *process) takenPorts(t interface{ Fatal(...any) }) []int32 {
	var taken []int32
	err := p.ports.change(context.Background(), func(set portSet) error {
		taken = nil
		for port := set.First; port <= set.Last; port++ {
			if set.has(port) {
				taken = append(taken, port)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}
