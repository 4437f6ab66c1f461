package containers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
)

// socketKey identifies a port of a pod.
type socketKey struct {
	port     int32
	protocol corev1.Protocol
}

// liveSocket is a port on which a program of a run of a container listens.
type liveSocket struct {
	*box.Socket
	container, id string
}

// Listen implements box.Network.
func (n ownNetwork) Listen(port int32, protocol corev1.Protocol, own bool) (*box.Socket, error) {
	f, key := n.entry.Files(), socketKey{port, protocol}
	f.mu.Lock()
	defer f.mu.Unlock()
	if open := f.sockets[key]; open.Socket != nil && open.Listens() {
		return nil, syscall.EADDRINUSE
	}
	if f.sockets == nil {
		f.sockets, f.listened = map[socketKey]liveSocket{}, map[string]string{}
	}
	s := &box.Socket{}
	f.sockets[key] = liveSocket{s, n.spec.Name, n.id}
	if own {
		f.listened[n.spec.Name] = n.id
	}
	return s, nil
}

// listening returns what listens at a port of a pod, and the socket if it is a program of a container. Once the own
// process of a container has listened, nothing is assumed to listen there.
func listening(e Pod, shown *Shown, port int32, protocol corev1.Protocol) (*listeners.Server, *box.Socket) {
	found := listeners.Of(shown.Pod, shown.accepts, port, protocol)
	if found != nil && found.Process != "" {
		return found, nil
	}
	f, key := e.Files(), socketKey{port, protocol}
	f.mu.Lock()
	defer f.mu.Unlock()
	if open := f.sockets[key]; f.socketAt(shown, key) != nil {
		return &listeners.Server{Listener: reach.Listener{Container: open.container, Why: "a program in the container listens", Speaks: "bytes"}}, open.Socket
	}
	if found != nil && found.Unknown && f.listened[found.Container] != "" && f.listened[found.Container] == shown.RunOf(found.Container) {
		return nil, nil
	}
	return found, nil
}

// socketAt returns the program of a run of a container that listens at a port; nil: none does. It requires the lock.
func (f *Files) socketAt(shown *Shown, at socketKey) *box.Socket {
	if open := f.sockets[at]; open.Socket != nil && open.Listens() && shown.RunOf(open.container) == open.id {
		return open.Socket
	}
	return nil
}

// SocketAt returns the program of a container that listens at the end of a path; nil: none does.
func SocketAt(e Pod, path *reach.Path) *box.Socket {
	shown := e.See()
	_, socket := listening(e, &shown, int32(path.Target.Port()), path.Protocol)
	return socket
}

// garbler is a ResponseWriter that gets bytes that are no answer of HTTP.
type garbler interface{ Garbled(all io.Reader) }

// maxSocketBody bounds the body of a request to a program that listens.
const maxSocketBody = 1 << 20

// conversation sends a program all that a client has to say, and returns what the program answers until it closes the connection.
type conversation func(ctx context.Context, data []byte) (io.ReadCloser, error)

// talkingTo returns the conversation of the client of a request with a program.
func talkingTo(s *box.Socket, r *http.Request) conversation {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return func(ctx context.Context, data []byte) (io.ReadCloser, error) { return s.Converse(ctx, peer, data) }
}

// answerByBytes answers a request with what a program that listens answers to its bytes.
func answerByBytes(converse conversation, w http.ResponseWriter, r *http.Request) {
	sent := r.Clone(r.Context())
	sent.Body, sent.Close = io.NopCloser(io.LimitReader(r.Body, maxSocketBody)), false
	if sent.Header.Get("User-Agent") == "" {
		sent.Header.Set("User-Agent", "") // not net/http's
	}
	var request bytes.Buffer
	a, aborts := w.(aborter)
	fails := func(reset bool) {
		if !aborts {
			panic(http.ErrAbortHandler) // closes the connection
		}
		a.Abort(reset)
	}
	err := sent.Write(&request)
	if err != nil {
		fails(true)
		return
	}
	answer, err := converse(r.Context(), request.Bytes())
	if err != nil {
		fails(true)
		return
	}
	defer answer.Close()
	begin := bufio.NewReader(&capped{answer, maxExchange})
	if _, err := begin.Peek(1); err != nil {
		fails(!errors.Is(err, io.EOF))
		return
	}
	var seen bytes.Buffer // what is no answer of HTTP is shown whole
	rs, err := http.ReadResponse(bufio.NewReader(io.TeeReader(begin, &seen)), r)
	if err != nil {
		if g, ok := w.(garbler); ok {
			g.Garbled(io.MultiReader(&seen, begin))
			return
		}
		fails(false)
		return
	}
	defer rs.Body.Close()
	for name, values := range rs.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(rs.StatusCode)
	if _, err := io.Copy(w, rs.Body); err != nil {
		fails(!errors.Is(err, io.ErrUnexpectedEOF))
	}
}

// capped reads at most left bytes; then the connection is reset.
type capped struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (c *capped) Read(into []byte) (int, error) {
	if c.left <= 0 {
		return 0, syscall.ECONNRESET
	}
	n, err := c.from.Read(into[:min(len(into), c.left)])
	c.left -= n
	return n, err
}
