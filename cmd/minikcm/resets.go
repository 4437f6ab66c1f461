package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

// resetFeature is the name of the extension that serves resets, and resetPath its path.
const (
	resetFeature = "reset"
	resetPath    = "/minikcm/v1/" + resetFeature
)

// resetState is the response at resetPath. For a POST, Resets is the number that a GET
// returns once the reset is complete.
type resetState struct {
	// Resets counts the resets of the cluster.
	Resets int `json:"resets"`
}

// resets serves resetPath of the cluster of "minikcm up": POST requests a reset, and GET
// responds when the cluster is ready. One resets value serves all the clusters that
// succeed each other.
type resets struct {
	// refusal is the reason why the cluster cannot be reset, or empty if it can.
	refusal string
	// asked delivers the user that requested a reset.
	asked chan string

	mu    sync.Mutex
	count int
	ready chan struct{} // closed when the cluster is ready
}

func newResets(opts *minikcm.Options) *resets {
	r := &resets{asked: make(chan string, 1), ready: make(chan struct{})}
	switch {
	case opts.Storage.DataDir != "":
		r.refusal = fmt.Sprintf("the cluster keeps its state in %s, which a reset would delete: stop it, remove the directory, and start it again", opts.Storage.DataDir)
	case len(opts.Sharing.Etcd.Endpoints) > 0:
		r.refusal = "the cluster keeps its state in an external etcd, which a reset would delete"
	}
	return r
}

// extension returns the extension that serves resets for a cluster.
func (r *resets) extension() minikcm.Extension {
	return minikcm.Extension{Name: resetFeature, Start: func(context.Context, *minikcm.Cluster) (minikcm.ExtensionHandler, error) { return r, nil }}
}

// setReady marks the cluster as ready, after the start or after a reset.
func (r *resets) setReady() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.ready)
}

// begin begins a reset if the cluster is ready. Otherwise the cluster is starting, and its
// state will be the initial one without another reset.
func (r *resets) begin() (state resetState, begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ready:
		r.ready = make(chan struct{})
		r.count++
		begun = true
	default:
	}
	return resetState{Resets: r.count}, begun
}

// Close does nothing: resets outlives the clusters that call it.
func (r *resets) Close() error { return nil }

func (r *resets) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path != resetPath:
		http.NotFound(w, req)
	case req.Method == http.MethodGet:
		r.serveState(w, req)
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		answerStatus(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "request a reset with POST")
	case r.refusal != "":
		answerStatus(w, http.StatusConflict, metav1.StatusReasonConflict, r.refusal)
	default:
		r.serveReset(w, req)
	}
}

// serveState responds when the cluster is ready.
func (r *resets) serveState(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	ready, state := r.ready, resetState{Resets: r.count}
	r.mu.Unlock()
	select {
	case <-ready:
		answerJSON(w, http.StatusOK, state)
	case <-req.Context().Done():
	}
}

// serveReset responds before the reset begins, because the reset closes the connection.
func (r *resets) serveReset(w http.ResponseWriter, req *http.Request) {
	state, begun := r.begin()
	answerJSON(w, http.StatusAccepted, state)
	_ = http.NewResponseController(w).Flush() // the reset continues if the client is gone
	if begun {
		r.asked <- minikcm.RequestUser(req)
	}
}

func answerJSON(w http.ResponseWriter, code int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(code)
	_, _ = w.Write(data) // fails only if the client is gone
}

func answerStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answerJSON(w, code, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code), // an HTTP code
	})
}
