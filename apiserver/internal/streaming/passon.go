package streaming

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"

	"minikcm.dev/minikcm/apiserver/internal/remote"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
	"minikcm.dev/minikcm/internal/peers"
)

// peer returns the process that simulates a node; nil if it is this one. A request that another
// process has passed on stays here, so that requests cannot go in circles while nodes change
// hands.
func (s *Server) peer(ctx context.Context, rq *Request, node string) (*peers.Peer, error) {
	if s.opts.Peers == nil || rq.PassedOn {
		return nil, nil
	}
	return s.opts.Peers.Find(ctx, node)
}

// passOn serves the request at a peer, with another path and query. unreachable returns the error
// for a failed connection.
func (s *Server) passOn(ctx context.Context, rq *Request, peer *peers.Peer, path string, query url.Values, unreachable func(error) error) error {
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	var w http.ResponseWriter
	var err error
	if httpstream.IsUpgradeRequest(rq.HTTP) {
		if w, err = response.Hijackable(rq.Writer); err != nil {
			return err
		}
	} else {
		out := slowclient.NewStream(ctx, rq.Writer)
		defer out.End()
		w = passedWriter{rq.Writer, out}
	}
	if err := peer.Pass(w, rq.HTTP.WithContext(ctx), path, query.Encode()); err != nil {
		return unreachable(err)
	}
	return nil
}

// passedWriter disconnects a client that does not read a response of a peer.
type passedWriter struct {
	http.ResponseWriter
	out *slowclient.Stream
}

// Write implements io.Writer. It flushes.
func (w passedWriter) Write(data []byte) (int, error) { return w.out.Write(data) }

// FlushError sends the header of a response whose body has not begun.
func (w passedWriter) FlushError() error {
	_, err := w.out.Write(nil)
	return err
}

// undialled returns the error for a peer that cannot be reached, as upstream's for a kubelet:
// code 500 without a reason, and the text of the failed connection.
func undialled(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "error dialing backend: " + err.Error(),
	}}
}

// withStreams returns the query with the options of a connection to a container, which admission
// may have changed.
func withStreams(query url.Values, o *remote.Options, container string, command []string) url.Values {
	changed := url.Values{"container": {container}, "command": command}
	for name, value := range map[string]bool{"stdin": o.Stdin, "stdout": o.Stdout, "stderr": o.Stderr, "tty": o.TTY} {
		changed.Set(name, strconv.FormatBool(value))
	}
	for name, values := range query { // such as a pretty
		if _, known := changed[name]; !known {
			changed[name] = values
		}
	}
	return changed
}
