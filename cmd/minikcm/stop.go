package main

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

// stopFeature is the name of the extension that stops the cluster of "minikcm up", and stopPath its
// path.
const (
	stopFeature = "stop"
	stopPath    = "/minikcm/v1/" + stopFeature
)

// stops serves stopPath of the cluster of "minikcm up": POST stops it, as SIGTERM does. A client that
// may make the request needs no right to signal the process, and never hits another one.
type stops struct {
	// asked delivers the user that requested the stop.
	asked chan string
}

func newStops() *stops { return &stops{asked: make(chan string, 1)} }

// extension returns the extension that serves stops for a cluster.
func (s *stops) extension() minikcm.Extension {
	return minikcm.Extension{Name: stopFeature, Start: func(context.Context, *minikcm.Cluster) (minikcm.ExtensionHandler, error) { return s, nil }}
}

// Close does nothing: stops outlives the clusters that call it.
func (s *stops) Close() error { return nil }

// ServeHTTP answers before the cluster stops, which closes the connection.
func (s *stops) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path != stopPath:
		http.NotFound(w, req)
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		answerStatus(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "stop the cluster with POST")
	default:
		answerJSON(w, http.StatusAccepted, struct{}{})
		_ = http.NewResponseController(w).Flush() // the cluster stops if the client is gone, too
		select {
		case s.asked <- minikcm.RequestUser(req):
		default: // it stops already
		}
	}
}
