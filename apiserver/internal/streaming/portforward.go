package streaming

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/remote"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/peers"
	"minikcm.dev/minikcm/internal/relay"
)

// PortForward connects the client to ports of the pod.
func (s *Server) PortForward(ctx context.Context, rq *Request) error {
	return texts(s.servePortForward)(ctx, rq)
}

func (s *Server) servePortForward(ctx context.Context, rq *Request) error {
	opts := &corev1.PodPortForwardOptions{}
	values := rq.Query["ports"]
	if err := metav1.Convert_Slice_string_To_Slice_int32(&values, &opts.Ports, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := rq.permit(ctx, opts); err != nil {
		return err
	}
	pod, listener, peer, err := s.openPorts(ctx, rq)
	if err != nil {
		return err
	}
	if peer != nil {
		return s.passOn(ctx, rq, peer, rq.HTTP.URL.Path, rq.Query, undialled)
	}
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	w, err := response.Hijackable(rq.Writer)
	if err != nil {
		return err
	}
	ctx = klog.NewContext(ctx, s.opts.Logger)
	return remote.ServePorts(w, rq.HTTP.WithContext(ctx), remote.PortOptions{
		Pod: pod.Name + "_" + pod.Namespace, UID: string(pod.UID), Ports: opts.Ports,
		Forward: func(ctx context.Context, port uint16, conn io.ReadWriteCloser) error {
			address, err := s.hostOf(ctx, pod, int32(port))
			if err != nil {
				return err
			}
			if address != "" {
				process, err := relay.Dial(ctx, address)
				if err != nil {
					return err
				}
				relay.Join(ctx, conn, process, 0)
				return nil
			}
			open := listener(int32(port))
			if open != nil {
				if err := open.Arrive(ctx, rq.HTTP, s.opts.MayWait == nil || s.opts.MayWait(ctx)); err != nil {
					return fmt.Errorf("error dialing backend: %w", err)
				}
			}
			if open == nil {
				return fmt.Errorf("failed to connect to localhost:%d inside namespace %q, IPv4: dial tcp4 127.0.0.1:%d: connect: connection refused IPv6 dial tcp6 [::1]:%d: connect: connection refused",
					port, pod.UID, port, port)
			}
			serveConn(ctx, conn, open)
			return nil
		},
	})
}

// openPorts returns the pod and the function that finds the handlers of its ports, or the process
// that has them.
func (s *Server) openPorts(ctx context.Context, rq *Request) (*corev1.Pod, PortFunc, *peers.Peer, error) {
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	defer work.End()
	pod, err := s.pod(ctx, rq.Namespace, rq.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	peer, err := s.host(ctx, rq, pod)
	if peer != nil || err != nil {
		return pod, nil, peer, err
	}
	if err := s.dial(inflight.With(ctx, work), pod.Spec.NodeName); err != nil {
		return nil, nil, nil, undialled(err)
	}
	listener, err := s.opts.Kubelets.OpenPorts(pod)
	if err != nil {
		return nil, nil, nil, kubeletError(err)
	}
	return pod, listener, nil, nil
}

// serveConn serves HTTP on one connection to a port until either side closes it, or ctx ends.
func serveConn(ctx context.Context, stream io.ReadWriteCloser, port *secure.Port) {
	inside, outside := net.Pipe()
	listener := &oneConn{conn: port.Server(inside), closed: make(chan struct{})}
	server := &http.Server{
		Handler: port.Handler, ReadHeaderTimeout: readHeaderTimeout,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				listener.end()
			}
		},
	}
	secure.Speak(server)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(outside, stream)
		_ = outside.Close()
	})
	copying.Go(func() {
		_, _ = io.Copy(stream, outside)
		_ = stream.Close()
	})
	_ = server.Serve(listener) // it ends with its connection
	_ = inside.Close()
	copying.Wait()
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   net.Conn
	given  bool
	closed chan struct{}
	once   sync.Once
}

// Accept returns the connection once and then blocks until Close. It is called by one
// goroutine.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) end() { l.once.Do(func() { close(l.closed) }) }

// Close ends a blocked Accept.
func (l *oneConn) Close() error {
	l.end()
	return nil
}

// Addr returns the connection's local address.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
