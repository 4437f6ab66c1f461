package kubeletsim

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// newFabric returns the network of the cluster.
func (k *network) newFabric() *fabric.Fabric {
	return fabric.New(fabric.Options{
		Informers: k.informers, Seed: k.opts.Seed, Start: func() { k.informers.Start(k.ended) }, Now: k.opts.Clock.Now, Listens: k.listens, Cut: k.cut,
		SyncPeriod: k.opts.Latencies.ServiceSync, AfterFunc: func(d time.Duration, do func()) { k.opts.Clock.AfterFunc(d, do) },
		Handle: func(informer cache.SharedIndexInformer, seen, lost func(obj any)) (cache.DoneChecker, error) {
			registration, err := k.attend(informer, seen, lost)
			if err != nil {
				return nil, err
			}
			return registration.HasSyncedChecker(), nil
		},
	})
}

// DisturbNetwork adds a fault of the network inside the cluster, until remove is called. Connections that pods of this process make
// are met, calls of the API server, and, if the fault names the API server, nodes that it cuts off from it.
func (k *injector) DisturbNetwork(r *faults.Rule) (remove func()) {
	end := k.fabric.Disturb(r)
	if !r.Names(ends.APIServer) {
		return end
	}
	k.relink()
	return func() { end(); k.relink() }
}

// relink cuts the nodes off from the API server that faults of the network cut off, and no other ones.
func (k *injector) relink() {
	for _, name := range k.nodes.Names() {
		if n := k.nodes.Get(name); n != nil {
			k.relinkNode(n)
		}
	}
}

// relinkNode is relink for one node. Its containers run on, and their connections do not change but for those to the API server.
func (k *nodeManager) relinkNode(n *nodes.Node) {
	peer := k.peerOf(n.Name)
	if k.fabric.CutFromAPIServer(peer) {
		k.flush(n) // not with the lock: its requests may take time
	}
	if k.unlink(n, peer) {
		k.due.Set(nodeKey(n.Name), time.Time{})
		k.loop.Add(leaseKey(n.Name)) // its alarm ends, too
		k.fabric.Changed()
	}
}

// unlink does what relinkNode does with the lock, so that the last of several faults decides. It reports whether the node is cut off
// now and was not before.
func (k *nodeManager) unlink(n *nodes.Node, peer *ends.Peer) (cut bool) {
	k.linking.Lock()
	defer k.linking.Unlock()
	cut = k.fabric.CutFromAPIServer(peer)
	switch changed := n.Unlink(cut); {
	case !changed:
		return false
	case cut:
		k.fabric.StopView(n.Name, viewUnlinked)
	default:
		k.fabric.StartView(n.Name, viewUnlinked)
		k.wakeNode(n.Name)
	}
	return cut
}

// peerOf returns a node as faults see it.
func (k *network) peerOf(name string) *ends.Peer {
	e := &ends.Peer{Node: name}
	if n := k.nodes.Get(name); n != nil {
		e.Address, _ = netip.ParseAddr(n.Address) // not valid if it has none
	}
	if object, err := k.nodeLister.Get(name); err == nil {
		e.Zone = object.Labels[corev1.LabelTopologyZone]
	}
	return e
}

// Why a node's rules of Services do not follow changes.
const (
	viewStopped = "its kube-proxy is stopped"
	viewCutOff  = "it is cut off from the API server"
	// viewUnlinked is viewCutOff because of a fault of the network.
	viewUnlinked = "a fault of the network cuts it off from the API server"
)

// StopProxy stops the kube-proxy of a node: its rules of Services stay as they are until StartProxy was called as often.
func (k *injector) StopProxy(name string) error {
	if k.nodes.Get(name) == nil {
		return fmt.Errorf("stopping kube-proxy of node %s: %w", name, ErrNoNode)
	}
	k.fabric.StopView(name, viewStopped)
	return nil
}

// StartProxy ends StopProxy.
func (k *injector) StartProxy(name string) error {
	k.fabric.StartView(name, viewStopped)
	return nil
}

// listens returns what listens at a port of a pod; nil if nothing does. Of a pod that another process simulates, it is known what
// its object shows.
func (k *network) listens(pod *corev1.Pod, port int32, protocol corev1.Protocol) *reach.Listener {
	if e := k.pods.get(pod.UID); e != nil && k.shards.owns(pod.Spec.NodeName) && k.nodes.Get(pod.Spec.NodeName) != nil {
		return containers.Listens(e, port, protocol)
	}
	return Listens(k.images.Annotate(pod), port, protocol)
}

// Listens returns what listens at a port of a pod by what its object shows; nil if nothing does.
func Listens(pod *corev1.Pod, port int32, protocol corev1.Protocol) *reach.Listener {
	runs := func(name string) bool {
		running := func(s corev1.ContainerStatus) bool { return s.Name == name && s.State.Running != nil }
		return slices.ContainsFunc(pod.Status.ContainerStatuses, running) || slices.ContainsFunc(pod.Status.InitContainerStatuses, running)
	}
	if at := listeners.Of(pod, runs, port, protocol); at != nil {
		return &at.Listener
	}
	return nil
}

// cut returns why packets between two nodes are lost, which may be one node; empty if they are not.
func (k *network) cut(from, to string) string {
	for _, name := range []string{from, to} {
		n := k.nodes.Get(name)
		switch {
		case n == nil:
		case n.IsCrashed():
			return "node " + name + " is down"
		case from != to && !n.Connected():
			return "node " + name + " is cut off from the network"
		}
	}
	return ""
}

// Enter says where a connection, or a datagram, goes that a program of this machine sends from outside of the cluster.
func (k *network) Enter(ctx context.Context, host string, port int32, protocol corev1.Protocol) (*reach.Path, error) {
	return k.fabric.Enter(ctx, host, port, protocol)
}

// ExchangeEntered returns the answer to a datagram whose path Enter returned; empty: there is none. Pods see that it comes from a port
// of the path's source.
func (k *network) ExchangeEntered(ctx context.Context, path *reach.Path, port uint16, data []byte) ([]byte, error) {
	return k.exchange(ctx, path, netip.AddrPortFrom(path.Source.Address, port), data)
}

// EnterFrom says where a TCP connection goes that a process of this machine makes in place of a pod.
func (k *network) EnterFrom(ctx context.Context, pod types.NamespacedName, host string, port int32) (*reach.Path, error) {
	from, err := k.podLister.Pods(pod.Namespace).Get(pod.Name)
	if err != nil {
		return nil, err
	}
	return k.fabric.EnterFrom(ctx, from, host, port)
}

// ServeEntered answers a request over a connection whose path Enter returned. ok is false, and there is no answer, if its end does
// not listen any more, or is the name server, which knows no HTTP.
func (k *network) ServeEntered(path *reach.Path, w http.ResponseWriter, r *http.Request) (ok bool) {
	if path.APIServer || path.HealthCheck != nil {
		k.serve(path, w, r)
		return true
	}
	if path.Pod == nil {
		return false
	}
	pod, err := k.podLister.Pods(path.Pod.Namespace).Get(path.Pod.Name)
	if err != nil || pod.UID != path.Pod.UID || k.listens(pod, int32(path.Target.Port()), path.Protocol) == nil || k.cut("", path.Node) != "" {
		return false
	}
	k.serve(path, w, r)
	return true
}

// serve answers a request at the end of a path.
func (k *network) serve(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	switch {
	case path.Router != nil:
		k.forward(path, w, r)
		return
	case path.Listener != nil && path.Listener.Process != "":
		k.containers.ServeProcess(path, w, r)
		return
	case path.APIServer:
		k.serveAPI(w, r)
		return
	case path.HealthCheck != nil:
		k.serveProxy(path, w, r)
		return
	}
	if path.Pod == nil {
		return // what a name server answers to a request is unknown
	}
	n, e, free := k.podAt(path)
	if n == nil {
		containers.ServePage(path, w, r)
		return
	}
	defer free()
	k.containers.Answer(n, e, path, w, r)
}

// podAt returns the pod at the end of a path, and its node, which is nil if it is not known here. A pod that another process simulates
// has what its object shows. The caller must call free.
func (k *network) podAt(path *reach.Path) (n *nodes.Node, e containers.Pod, free func()) {
	n = k.nodes.Get(path.Node)
	if own := k.pods.get(path.Pod.UID); own != nil && n != nil && k.shards.owns(path.Node) {
		return n, own, func() {}
	}
	if n == nil {
		object, err := k.nodeLister.Get(path.Node)
		if err != nil {
			return nil, nil, nil
		}
		n = nodes.Elsewhere(object)
	}
	remote := containers.NewRemote(k.images.Annotate(path.Pod))
	return n, remote, remote.Files().Free
}

// Certificate returns the source of the certificate of a TLS server at the end of a path; nil: the server speaks no TLS, or nothing is
// known of it.
func (k *network) Certificate(path *reach.Path) secure.Source {
	if path.APIServer {
		return k.opts.APICertificate
	}
	if path.Pod == nil {
		return nil
	}
	n, e, free := k.podAt(path)
	if n == nil {
		return nil
	}
	source := k.containers.Certificate(n, e, path)
	if source == nil {
		return nil
	}
	return func(ctx context.Context) (*tls.Certificate, error) {
		defer free()
		return source(ctx)
	}
}

// socket returns the program of a container that listens at the end of a path; nil: what listens there is none.
func (k *network) socket(path *reach.Path) *box.Socket {
	if path.Pod == nil || path.Listener != nil && path.Listener.Process != "" {
		return nil
	}
	n, e, free := k.podAt(path)
	if n == nil {
		return nil
	}
	defer free()
	return containers.SocketAt(e, path)
}

// exchange answers data that is no request of HTTP at the end of a path.
func (k *network) exchange(ctx context.Context, path *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error) {
	if path.Listener != nil && path.Listener.Process != "" {
		return k.containers.ExchangeProcess(ctx, path, data)
	}
	if path.Pod == nil {
		return nil, nil
	}
	n, e, free := k.podAt(path)
	if n == nil {
		return nil, nil
	}
	defer free()
	return k.containers.Exchange(ctx, n, e, path, peer, data)
}
