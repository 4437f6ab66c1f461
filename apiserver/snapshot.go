package apiserver

import (
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

// serveSnapshot serves GET /minikcm/v1/snapshot: a snapshot of the store in etcd's
// format. If it fails midway, it closes the connection; the truncated body then lacks
// the hash at its end.
func (s *Server) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	if s.opts.Snapshots == nil {
		response.NoRoute(w)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		response.Error(w, r, response.NewStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "a snapshot can only be read, with GET"))
		return
	}
	out := slowclient.NewStream(r.Context(), w)
	defer out.End()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	started := &startedWriter{Writer: out}
	s.opts.Heartbeats.LookAtAll(r.Context())
	err := s.opts.Snapshots.Snapshot(r.Context(), started)
	if err == nil {
		return
	}
	s.opts.Logger.Error(err, "Writing a snapshot")
	if started.started {
		panic(http.ErrAbortHandler)
	}
	w.Header().Del("Cache-Control")
	response.Error(w, r, apierrors.NewServiceUnavailable(err.Error()))
}

// startedWriter records whether anything has been written.
type startedWriter struct {
	io.Writer
	started bool
}

func (w *startedWriter) Write(p []byte) (int, error) {
	w.started = true
	return w.Writer.Write(p)
}
