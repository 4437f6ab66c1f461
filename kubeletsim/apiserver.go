package kubeletsim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/secure"
)

// dialTimeout is the time after which the API server gives up to connect, and neighborTimeout the one after which it knows that no machine
// has an address.
const (
	dialTimeout     = 30 * time.Second
	neighborTimeout = 3 * time.Second
)

// Dial connects the API server to the kubelet of a node, and returns the error of net/http if that fails: because the machine is down, cut off
// from the API server, or because of faults of the network between the two. Time passes only if mayWait is set. A node that is not
// simulated here has no error.
func (k *network) Dial(ctx context.Context, node string, mayWait bool) error {
	n := k.nodes.Get(node)
	if n == nil {
		return nil
	}
	to := k.peerOf(node)
	why, wait := "", time.Duration(0)
	switch {
	case n.IsCrashed():
		why, wait = "connect: no route to host", neighborTimeout
	case !n.Reachable():
		why, wait = "i/o timeout", dialTimeout
	default:
		return k.disturbed(&secure.Port{}, to, kubeletPort).Arrive(ctx, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}}, mayWait)
	}
	if mayWait {
		if err := inflight.Sleep(ctx, k.opts.Clock, wait); err != nil {
			return err
		}
	}
	return fmt.Errorf("dial tcp %s: %s", netip.AddrPortFrom(to.Address, kubeletPort), why)
}

// OpenPorts returns a function that returns a running pod's TCP port, as its kubelet reaches it; nil for a port without a listener. Faults
// of the network between the API server and the node meet connections.
func (k *network) OpenPorts(pod *corev1.Pod) (func(port int32) *secure.Port, error) {
	open, err := k.openPorts(pod)
	if err != nil {
		return nil, err
	}
	node := k.peerOf(pod.Spec.NodeName)
	return func(port int32) *secure.Port { return k.disturbed(open(port), node, kubeletPort) }, nil
}

// ReachPorts is OpenPorts for connections that the API server makes to the pod itself. Faults of the network between the two meet them. of
// are the Services that they are for.
func (k *network) ReachPorts(pod *corev1.Pod, of ...types.NamespacedName) (func(port int32) *secure.Port, error) {
	open, err := k.openPorts(pod)
	if err != nil {
		return nil, err
	}
	to := k.peerOf(pod.Spec.NodeName)
	to.Pod, to.Services = pod, func() []types.NamespacedName { return of }
	to.Address, _ = netip.ParseAddr(pod.Status.PodIP) // not valid if it has none yet
	return func(port int32) *secure.Port { return k.disturbed(open(port), to, uint16(port)) }, nil
}

// kubeletPort is the port at which the API server reaches kubelets.
const kubeletPort = 10250

// disturbed returns a port that the API server reaches through a connection to an end, with what faults do to that. The port may be nil.
func (k *network) disturbed(p *secure.Port, to *ends.Peer, port uint16) *secure.Port {
	effect, chance := k.fabric.FromAPIServer(to)
	if effect == nil || len(effect.Hits) == 0 {
		return p
	}
	lost := effect.Dropped != nil || effect.Stalled
	switch {
	case p == nil && !lost:
		return nil
	case p == nil:
		p = &secure.Port{Known: true} // no packet comes back that refuses the connection
	}
	if to.Pod == nil {
		effect.HTTP = nil // a kubelet's connections are streams
	}
	address := netip.AddrPortFrom(to.Address, port).String()
	p.Way = func(ctx context.Context, r *http.Request, mayWait bool) error {
		fault := effect.Request(&faults.Asked{Method: r.Method, Path: r.URL.Path, Port: int(port), Header: r.Header.Get}, chance)
		wait := effect.Connect + effect.Exchange + fault.Delay
		if lost {
			wait = dialTimeout
		}
		if mayWait {
			if err := inflight.Sleep(ctx, k.opts.Clock, wait); err != nil {
				return err
			}
		}
		switch {
		case lost:
			return fmt.Errorf("dial tcp %s: i/o timeout", address)
		case effect.Reset != nil:
			return fmt.Errorf("read tcp %s: read: connection reset by peer", address)
		case fault.Abort:
			return io.EOF
		}
		return nil
	}
	return p
}

// apiChunk is the most that is read at once of an answer of the API server.
const apiChunk = 32 << 10

// serveAPI answers a request at the API server, which sees the credentials that are in the request. An answer that comes in pieces,
// such as a watch, lasts until the server ends it or the request's context ends.
func (k *network) serveAPI(w http.ResponseWriter, r *http.Request) {
	if secure.Refuse(w, r) {
		return
	}
	if k.opts.APIServer == nil {
		if assumed, ok := w.(interface{ Unsure() }); ok {
			assumed.Unsure()
		}
		return
	}
	response, err := k.opts.APIServer.RoundTrip(r)
	if err != nil {
		abort(w)
		return
	}
	defer response.Body.Close() // nothing more is read
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if response.ContentLength >= 0 {
		_, _ = io.Copy(w, response.Body) // the writer keeps its error
		return
	}
	k.passOn(w, r, response.Body)
}

// passOn copies an answer that comes in pieces. While the server has nothing to send, the client that waits for it is not in flight.
func (k *network) passOn(w http.ResponseWriter, r *http.Request, body io.Reader) {
	pauser, pieces := inflight.PauserOf(r.Context()), make([]byte, apiChunk)
	flusher, _ := w.(http.Flusher)
	for {
		if flusher != nil {
			flusher.Flush()
		}
		if pauser != nil {
			pauser.Pause()
		}
		n, err := body.Read(pieces)
		if pauser != nil {
			pauser.Resume()
		}
		if _, failed := w.Write(pieces[:n]); failed != nil {
			return
		}
		if err != nil {
			if err != io.EOF && r.Context().Err() == nil {
				abort(w)
			}
			return
		}
	}
}

// abort ends a connection without an answer.
func abort(w http.ResponseWriter) {
	if a, ok := w.(interface{ Abort(reset bool) }); ok {
		a.Abort(false)
		return
	}
	panic(http.ErrAbortHandler)
}
