package containers

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
)

// network returns the network as the container's programs see it; nil if the runtime has none.
func (in *Ref) network() box.Network {
	if in.runtime.opts.Network == nil {
		return nil
	}
	return ownNetwork{in, in.runtime.opts.Network}
}

// ownNetwork is the network as one container sees it.
type ownNetwork struct {
	*Ref
	fabric *fabric.Fabric
}

// source is the container's pod, with the addresses that it has at present.
func (n ownNetwork) source() policy.Peer {
	pod := *n.pod
	pod.Status.PodIPs = nil
	for _, ip := range n.podIPs() {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return policy.Peer{Pod: &pod}
}

// Decide implements box.Network.
func (n ownNetwork) Decide(ctx context.Context, q *reach.Query) (*reach.Path, error) {
	q.From = n.source()
	path, err := n.fabric.Decide(ctx, q)
	if err == nil {
		try(ctx, path)
	}
	return path, err
}

// Names implements box.Network.
func (n ownNetwork) Names(ctx context.Context, c *dns.Config, random uint64, ask func(*dns.Zone)) (*reach.Served, error) {
	return n.fabric.Names(ctx, &reach.Query{From: n.source(), Resolver: c, Random: random}, ask)
}

// Certificate implements box.Network.
func (n ownNetwork) Certificate(ctx context.Context, path *reach.Path, name string) (*tls.Certificate, error) {
	if address := processOf(path); address != "" {
		return presented(ctx, address, name)
	}
	if path.Router != nil && path.Listener.TLS {
		return n.runtime.opts.RouterCertificate(ctx, path, name)
	}
	source := n.runtime.opts.Certificate(path)
	switch {
	case source != nil:
		return source(ctx)
	case path.Router != nil, path.HealthCheck != nil:
		return nil, secure.ErrPlain
	case path.Pod == nil, path.Listener == nil, path.Listener.Unknown, path.Listener.TLS: // the last is one of another process
		return nil, nil
	}
	return nil, secure.ErrPlain
}

// Socket implements box.Network.
func (n ownNetwork) Socket(path *reach.Path) *box.Socket { return n.runtime.opts.Socket(path) }

// Exchange implements box.Network.
func (n ownNetwork) Exchange(ctx context.Context, path *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error) {
	return n.runtime.opts.Exchange(ctx, path, peer, data)
}

// Serve implements box.Network.
func (n ownNetwork) Serve(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	n.runtime.opts.Serve(path, w, r)
}
