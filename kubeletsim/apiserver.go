package kubeletsim

import (
	"io"
	"maps"
	"net/http"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/secure"
)

// apiChunk is the most that is read at once of an answer of the API server.
const apiChunk = 32 << 10

// serveAPI answers a request at the API server, which sees the credentials that are in the request. An answer that comes in pieces,
// such as a watch, lasts until the server ends it or the request's context ends.
func (k *Kubelets) serveAPI(w http.ResponseWriter, r *http.Request) {
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
func (k *Kubelets) passOn(w http.ResponseWriter, r *http.Request, body io.Reader) {
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
