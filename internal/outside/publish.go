package outside

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/proxyserver"
)

// Published is a port of a Service that listens on the loopback interface.
type Published struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// Port is the port of the Service, and PortName its name.
	Port     int32  `json:"port"`
	PortName string `json:"portName,omitempty"`
	// Protocol is UDP, or empty for TCP.
	Protocol corev1.Protocol `json:"protocol,omitempty"`
	// NodePort means that Address stands for the node port, otherwise for the load balancer.
	NodePort bool `json:"nodePort,omitempty"`
	// Address is the address and port to connect with; empty if nothing listens, because of Problem.
	Address string `json:"address,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// wanted is a port to publish.
type wanted struct {
	// service is the Service as it was at last.
	service types.NamespacedName
	port    int32
	name    string
	// protocol is UDP, or empty for TCP.
	protocol corev1.Protocol
	// to is where connections go: an address of the load balancer, or one of the loopback interface for the nodes, and its port.
	to       string
	toPort   int32
	nodePort bool
}

// loopback is the address of published ports that have none of their own.
const loopback = "127.0.0.1"

// at returns the address to listen on: the load balancer's, if it is one of the loopback interface.
func (w *wanted) at() string {
	if ip, err := netip.ParseAddr(w.to); err == nil && ip.Is4() && ip.IsLoopback() {
		return w.to
	}
	return loopback
}

// wantedOf returns what is published of a Service.
func wantedOf(s *corev1.Service) []wanted {
	if s.DeletionTimestamp != nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer && s.Spec.Type != corev1.ServiceTypeNodePort {
		return nil
	}
	nodes := loopback
	if len(s.Spec.IPFamilies) > 0 && s.Spec.IPFamilies[0] == corev1.IPv6Protocol {
		nodes = "::1"
	}
	var all []wanted
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		one := wanted{service: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, port: p.Port, name: p.Name}
		switch p.Protocol {
		case corev1.ProtocolTCP, "":
		case corev1.ProtocolUDP:
			one.protocol = p.Protocol
		default:
			continue
		}
		for _, point := range s.Status.LoadBalancer.Ingress {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer && point.IP != "" {
				balancer := one
				balancer.to, balancer.toPort = point.IP, p.Port
				all = append(all, balancer)
			}
		}
		if p.NodePort != 0 {
			one.to, one.toPort, one.nodePort = nodes, p.NodePort, true
			all = append(all, one)
		}
	}
	return all
}

// publisher keeps ports of Services open.
type publisher struct {
	*entrance
	recorder record.EventRecorder
	end      func()

	mu sync.Mutex
	// open are the ports that are published, or were tried, by what is wanted.
	open map[wanted]*opened
}

// opened is a port that is published; listener is nil if it is not, because of problem.
type opened struct {
	listener socket
	done     chan struct{}
	problem  string
	// of is the resourceVersion of the Service for which it was tried.
	of string
}

// user is the name under which the publisher watches Services and writes events.
const user = "minikcm:publish"

// publish begins to publish the cluster's Services, until close.
func (e *entrance) publish(ctx context.Context, cluster *minikcm.Cluster) (*publisher, error) {
	config := cluster.ConfigFor(user, "system:masters")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client for published Services: %w", err)
	}
	kinds, err := informers.KindsFor(config, cluster.Ledger())
	if err != nil {
		return nil, fmt.Errorf("watching Services to publish: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	recorder := events.NewRecorder(client.CoreV1(), cluster.Clock(), cluster.Ledger(), clock.NewRandom(cluster.Seed()).Keyed(user), "minikcm-publish")
	p := &publisher{entrance: e, recorder: recorder, open: map[wanted]*opened{}}
	var writing sync.WaitGroup
	writing.Go(func() { _ = recorder.Run(ctx) }) // always nil
	p.end = func() {
		cancel()
		kinds.Shutdown()
		writing.Wait()
	}
	see := func(obj any) {
		if s, ok := obj.(*corev1.Service); ok {
			p.update(ctx, s, wantedOf(s))
		}
	}
	_, err = kinds.Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if s, ok := obj.(*corev1.Service); ok {
				p.update(ctx, s, nil)
			}
		},
	})
	if err != nil {
		p.end()
		return nil, fmt.Errorf("watching Services to publish: %w", err)
	}
	kinds.Start(ctx.Done())
	return p, nil
}

// close ends the watch and closes the ports.
func (p *publisher) close() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for w, o := range p.open {
		p.shut(w, o)
	}
}

func (p *publisher) shut(w wanted, o *opened) {
	if o.listener != nil {
		_ = o.listener.Close()
		<-o.done
	}
	delete(p.open, w)
}

// update opens and closes ports so that those of a Service are the wanted ones. A port that was taken is tried again when the Service
// changes.
func (p *publisher) update(ctx context.Context, s *corev1.Service, all []wanted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	for w, o := range p.open {
		if w.service == name && (!slices.Contains(all, w) || o.listener == nil && o.of != s.ResourceVersion) {
			p.shut(w, o)
		}
	}
	for _, w := range all {
		if p.open[w] != nil {
			continue
		}
		o := p.listen(ctx, s, &w)
		o.of = s.ResourceVersion
		p.open[w] = o
	}
}

// listen opens a port, and reports where it is if that does not follow from the Service, or why it is nowhere.
func (p *publisher) listen(ctx context.Context, s *corev1.Service, w *wanted) *opened {
	what := fmt.Sprintf("Port %d of the load balancer", w.toPort)
	if w.nodePort {
		what = fmt.Sprintf("Node port %d", w.toPort)
	}
	listener, why := bind(listenAt(ctx, w.at(), w.protocol), w.at(), w.toPort, w.protocol, !w.nodePort)
	switch {
	case listener == nil:
		p.recorder.Eventf(s, corev1.EventTypeWarning, "NotPublished", "%s is not published: %v", what, why)
		return &opened{problem: why.Error()}
	case why != nil:
		p.recorder.Eventf(s, corev1.EventTypeWarning, "PublishedElsewhere", "%s is published on %s: %v", what, listener.Addr(), why)
	case !w.nodePort && w.at() != w.to:
		p.recorder.Eventf(s, corev1.EventTypeNormal, "Published", "%s is published on %s", what, listener.Addr())
	}
	o := &opened{listener: listener, done: make(chan struct{})}
	to, toPort := w.to, w.toPort
	go func() {
		defer close(o.done)
		switch l := listener.(type) {
		case datagrams:
			p.receive(ctx, l, to, toPort)
		case net.Listener:
			p.connections.Accept(ctx, l, func(ctx context.Context, conn net.Conn) { p.enter(ctx, conn, to, toPort) })
		}
	}()
	return o
}

// hold is the time for which a client waits whose packets are dropped: Linux's for a connection.
const hold = 127 * time.Second

// enter serves a connection to a published port.
func (p *publisher) enter(ctx context.Context, conn net.Conn, host string, port int32) {
	path, err := p.decide(ctx, host, port)
	switch {
	case err == nil && arrives(path):
		p.join(ctx, conn, path)
		return
	case err == nil && path.Outcome == reach.TimedOut:
		_ = conn.SetReadDeadline(clock.Real().Now().Add(hold))
		_, _ = io.Copy(io.Discard, conn) // until the client gives up
	}
	proxyserver.Reset(conn)
}

// published returns the ports in the order of their Services.
func (p *publisher) published() []Published {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.SortedFunc(maps.Keys(p.open), func(a, b wanted) int {
		return strings.Compare(a.key(), b.key())
	})
	list := make([]Published, 0, len(all))
	for _, w := range all {
		one := Published{Namespace: w.service.Namespace, Service: w.service.Name, Port: w.port, PortName: w.name, Protocol: w.protocol, NodePort: w.nodePort, Problem: p.open[w].problem}
		if l := p.open[w].listener; l != nil {
			one.Address = l.Addr().String()
		}
		list = append(list, one)
	}
	return list
}

// key orders the ports of a Service as its load balancer has them, and node ports last.
func (w *wanted) key() string {
	return fmt.Sprintf("%s %v %05d %s %s", w.service, w.nodePort, w.port, w.protocol, w.to)
}
