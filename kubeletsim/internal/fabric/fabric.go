package fabric

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/hash"
	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/services"
)

// Options are what the fabric needs of the kubelets. All fields are required.
type Options struct {
	Informers informers.Kinds
	// Handle registers functions for an informer's objects. synced reports whether they have seen all that there are.
	Handle func(informer cache.SharedIndexInformer, seen, lost func(obj any)) (synced cache.DoneChecker, err error)
	// Start starts the informers that were requested and do not run yet.
	Start func()
	Now   func() time.Time
	// Seed determines which endpoints connections from outside get.
	Seed uint64
	// Listens returns what listens at a port of a pod; nil if nothing does.
	Listens func(pod *corev1.Pod, port int32, protocol corev1.Protocol) *reach.Listener
	// SyncPeriod is the least time between two syncs of the nodes' rules of Services; 0: they change at once.
	SyncPeriod time.Duration
	// AfterFunc calls a function after some of the cluster's time.
	AfterFunc func(time.Duration, func())
	// Cut returns why packets between two nodes are lost; empty if they are not.
	Cut func(from, to string) string
}

// Fabric is the network of a cluster.
type Fabric struct {
	opts Options

	// beginning holds back questions until the informers have synced. begun and synced belong to its holder.
	beginning sync.Mutex
	begun     bool
	synced    []cache.DoneChecker
	ready     bool
	// routing means that the objects of routers are watched.
	routing bool
	// fallback returns the certificate of routers where no Secret has one.
	fallback func() (*tls.Certificate, error)

	mu      sync.Mutex
	cluster *reach.Cluster
	// affinities are what each node remembers of clients.
	affinities map[string]*services.Affinities
	// followers are called after changes, by their numbers.
	followers map[int]func()
	faults    faults.Set
	// live means that all that exists has been seen: what comes from now on changes it.
	live bool
	last int
	// entered counts the connections from outside, forwarded the requests that routers got, and called the connections of the API server
	// while there were faults.
	entered, forwarded, called uint64
}

// New returns a network without objects.
func New(opts Options) *Fabric {
	f := &Fabric{opts: opts, cluster: reach.New(), affinities: map[string]*services.Affinities{}, followers: map[int]func(){}, fallback: sync.OnceValues(selfSigned)}
	f.cluster.SetSyncPeriod(opts.SyncPeriod)
	return f
}

// begin starts the informers on the first call, and returns when they have synced.
func (f *Fabric) begin(ctx context.Context) error {
	f.beginning.Lock()
	defer f.beginning.Unlock()
	if !f.ready {
		if !f.begun {
			if err := f.watch(); err != nil {
				return fmt.Errorf("watching the network's objects: %w", err)
			}
			f.begun = true
			f.opts.Start()
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
		f.ready = true
	}
	return f.beginRouting(ctx)
}

// wait returns when the informers have synced.
func (f *Fabric) wait(ctx context.Context) error {
	for _, synced := range f.synced {
		select {
		case <-synced.Done():
		case <-ctx.Done():
			return fmt.Errorf("waiting for the network's objects: %w", context.Cause(ctx))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = true
	return nil
}

// watch registers the functions that keep the cluster's objects.
func (f *Fabric) watch() error {
	i := f.opts.Informers
	for _, w := range []struct {
		informer cache.SharedIndexInformer
		set, cut func(obj any)
	}{
		{i.Services().Informer(), on(f, func(s *corev1.Service) {
			f.changing(s.Namespace, s.Name)
			f.cluster.Services.SetService(s)
		}), on(f, func(s *corev1.Service) {
			f.changing(s.Namespace, s.Name)
			f.cluster.Services.DeleteService(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		})},
		{i.EndpointSlices().Informer(), on(f, func(s *discoveryv1.EndpointSlice) {
			f.changing(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
			f.cluster.Services.SetSlice(s)
		}), on(f, func(s *discoveryv1.EndpointSlice) {
			f.changing(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
			f.cluster.Services.DeleteSlice(s)
		})},
		{i.NetworkPolicies().Informer(), on(f, func(p *networkingv1.NetworkPolicy) { f.cluster.Policies.Set(p) }), on(f, func(p *networkingv1.NetworkPolicy) { f.cluster.Policies.Delete(p.Namespace, p.Name) })},
		{i.IngressClasses().Informer(), on(f, func(c *networkingv1.IngressClass) { f.cluster.Routes.SetClass(c) }), on(f, func(c *networkingv1.IngressClass) { f.cluster.Routes.DeleteClass(c.Name) })},
		{i.Namespaces().Informer(), on(f, func(n *corev1.Namespace) { f.cluster.Policies.SetNamespace(n.Name, n.Labels) }), on(f, func(n *corev1.Namespace) { f.cluster.Policies.DeleteNamespace(n.Name) })},
		{i.Nodes().Informer(), on(f, func(n *corev1.Node) { f.cluster.SetNode(n) }), on(f, func(n *corev1.Node) { f.cluster.DeleteNode(n.Name) })},
		{i.Pods().Informer(), on(f, func(p *corev1.Pod) { f.cluster.SetPod(p) }), on(f, func(p *corev1.Pod) {
			f.cluster.DeletePod(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		})},
	} {
		synced, err := f.opts.Handle(w.informer, w.set, w.cut)
		if err != nil {
			return err
		}
		f.synced = append(f.synced, synced)
	}
	return nil
}

// on returns a function for an informer's objects of one type. It calls do with the lock held.
func on[T any](f *Fabric, do func(*T)) func(obj any) {
	return func(obj any) {
		if o, ok := obj.(*T); ok {
			f.mu.Lock()
			do(o)
			f.mu.Unlock()
			f.Changed()
		}
	}
}

// changing is called with the lock held before a Service or one of its EndpointSlices changes.
func (f *Fabric) changing(namespace, service string) {
	if !f.live || service == "" {
		return
	}
	now := f.opts.Now()
	due := f.cluster.Changing(services.Key{Namespace: namespace, Name: service}, now)
	if len(f.followers) > 0 && !due.IsZero() {
		f.opts.AfterFunc(due.Sub(now), f.Changed)
	}
}

// StopView lets a node's rules of Services stay as they are, for a reason, until StartView.
func (f *Fabric) StopView(node, reason string) {
	f.mu.Lock()
	f.cluster.StopView(node, reason, f.opts.Now())
	f.mu.Unlock()
	f.Changed()
}

// StartView ends a StopView.
func (f *Fabric) StartView(node, reason string) {
	f.mu.Lock()
	f.cluster.StartView(node, reason)
	f.mu.Unlock()
	f.Changed()
}

// Follow calls changed after each change on which answers may depend, until ctx ends. Calls may overlap.
func (f *Fabric) Follow(ctx context.Context, changed func()) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	id := f.last
	f.followers[id] = changed
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.followers, id)
	})
	return nil
}

// Changed calls the followers. The kubelets call it after a change that no object shows, such as a node that is cut off.
func (f *Fabric) Changed() {
	f.mu.Lock()
	var all []func()
	for _, id := range slices.Sorted(maps.Keys(f.followers)) {
		all = append(all, f.followers[id])
	}
	f.mu.Unlock()
	for _, changed := range all {
		changed()
	}
}

// SetClusterPolicies replaces the cluster-wide policies.
func (f *Fabric) SetClusterPolicies(all []*policy.ClusterPolicy) {
	f.mu.Lock()
	f.cluster.Policies.SetClusterPolicies(all)
	f.mu.Unlock()
	f.Changed()
}

// Disturb adds a fault of the network, until remove is called.
func (f *Fabric) Disturb(r *faults.Rule) (remove func()) {
	change := func(do func(*faults.Rule)) {
		f.mu.Lock()
		do(r)
		f.mu.Unlock()
		f.Changed()
	}
	change(f.faults.Add)
	return func() { change(f.faults.Remove) }
}

// CutFromAPIServer reports whether faults that name the API server lose all packets between a node and it.
func (f *Fabric) CutFromAPIServer(node *ends.Peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults.Naming(ends.APIServer).Between(node, apiServer(), &faults.Chance{Never: true}).Dropped != nil
}

// FromAPIServer says what faults do to a connection that the API server makes, and returns its chance; nil: they do nothing.
func (f *Fabric) FromAPIServer(to *ends.Peer) (*faults.Effect, *faults.Chance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults.Empty() {
		return nil, nil
	}
	f.called++
	chance := &faults.Chance{Seed: hash.Mix(f.opts.Seed, f.called)}
	return f.faults.Between(apiServer(), to, chance), chance
}

// apiServer is the API server as faults see it.
func apiServer() *ends.Peer { return &ends.Peer{APIServer: true} }

// Decide says where a connection goes. It fills in what the query lacks.
func (f *Fabric) Decide(ctx context.Context, q *reach.Query) (*reach.Path, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.complete(q)
	return f.cluster.Decide(q), nil
}

// Enter says where a connection goes that a program outside of the cluster makes. It has the name server and the search list of
// a pod of the namespace default, and reaches the addresses that such a pod reaches.
func (f *Fabric) Enter(ctx context.Context, host string, port int32, protocol corev1.Protocol) (*reach.Path, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entered++
	q := &reach.Query{Host: host, Port: port, Protocol: protocol, Random: hash.Mix(f.opts.Seed, f.entered)}
	f.complete(q)
	resolver := f.cluster.ResolverOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}})
	q.Resolver = &resolver
	return f.cluster.DecideOutside(q), nil
}

// EnterFrom says where a TCP connection goes that a process of the machine makes in place of a pod.
func (f *Fabric) EnterFrom(ctx context.Context, pod *corev1.Pod, host string, port int32) (*reach.Path, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entered++
	q := &reach.Query{From: policy.Peer{Pod: pod}, Host: host, Port: port, Protocol: corev1.ProtocolTCP, Random: hash.Mix(f.opts.Seed, f.entered)}
	f.complete(q)
	return f.cluster.Decide(q), nil
}

// complete fills in what a query lacks. It requires the lock.
func (f *Fabric) complete(q *reach.Query) {
	f.serverLocked()
	q.Now, q.Listens, q.Cut, q.Faults = f.opts.Now(), f.opts.Listens, f.opts.Cut, &f.faults
	node := q.From.Node
	if pod := q.From.Pod; pod != nil {
		node = pod.Spec.NodeName
		if latest := f.cluster.Pod(pod.Namespace, pod.Name); latest != nil && latest.UID == pod.UID {
			own := *pod // it has the addresses, which the latest may lack yet
			own.Labels = latest.Labels
			q.From.Pod = &own
		}
	}
	if f.affinities[node] == nil {
		f.affinities[node] = &services.Affinities{}
	}
	q.Affinities = f.affinities[node]
}

// nameServerNumber is the number of the name server's address in the first range of Services, as kubeadm chooses it.
const nameServerNumber = 10

// serverLocked finds the address of the name server: the tenth after that of the Service kubernetes, which is the first.
func (f *Fabric) serverLocked() {
	if f.cluster.DNS.IsValid() {
		return
	}
	s := f.cluster.Services.Service(services.Key{Namespace: metav1.NamespaceDefault, Name: "kubernetes"})
	if s == nil {
		return
	}
	f.cluster.DNS = NameServer(s.Spec.ClusterIP)
}

// NameServer returns the address of the name server of a cluster in which the Service kubernetes has an address; not valid if that
// is none.
func NameServer(kubernetes string) netip.Addr {
	address, err := netip.ParseAddr(kubernetes)
	if err != nil {
		return netip.Addr{}
	}
	for range nameServerNumber - 1 {
		address = address.Next()
	}
	return address
}

// Names calls ask with what the name server knows that a query's source asks, if it answers.
func (f *Fabric) Names(ctx context.Context, q *reach.Query, ask func(*dns.Zone)) (*reach.Served, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.complete(q)
	served := f.cluster.Server(q)
	if served.Outcome == reach.Connected {
		ask(served.Zone)
	}
	return served, nil
}

// Answer answers a question of a person.
func (f *Fabric) Answer(ctx context.Context, ask *reach.Ask) (*reach.Report, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serverLocked()
	return f.cluster.Answer(ask, f.completeQuestion)
}

// Ways answers where all connections of a question go.
func (f *Fabric) Ways(ctx context.Context, ask *reach.Ask) ([]reach.Way, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serverLocked()
	return f.cluster.Ways(ask, f.completeQuestion)
}

// Matrix answers a question for all connections between workloads. Connections are decided between its rows.
func (f *Fabric) Matrix(ctx context.Context, ask *reach.MatrixAsk) (*reach.Matrix, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	return f.cluster.Matrix(ask, f.completeQuestion, func(work func()) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.serverLocked()
		work()
		return ctx.Err()
	})
}

// completeQuestion is complete for a question, which makes no connection.
func (f *Fabric) completeQuestion(q *reach.Query) {
	f.complete(q)
	q.Affinities = nil
}
