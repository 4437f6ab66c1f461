package clockapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// followInterval is the machine's time between two states of a stream while only the
	// time changes.
	followInterval = time.Second
	// clientTimeout is how long a client may take to send a body or to read a state, by the
	// machine's clock.
	clientTimeout = 30 * time.Second
)

var resource = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}

// Extension serves the clock.
func Extension() minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.Service, error) {
		return &service{cluster: cluster}, nil
	}}
}

type service struct {
	cluster  *minikcm.Cluster
	requests openrequests.Group
}

// ServeHTTP implements minikcm.Service.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, end, ok := s.requests.Begin(r.Context())
	if !ok {
		minikcm.AnswerError(w, errClosing())
		return
	}
	defer end()
	if err := s.serve(ctx, w, r); err != nil {
		minikcm.AnswerError(w, err)
	}
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	verb, known := verbs[name]
	switch {
	case name == "" && r.Method == http.MethodGet:
		return s.serveState(ctx, w, r)
	case name == "":
		return notAllowed(w, r, http.MethodGet)
	case !known:
		return apierrors.NewNotFound(resource, name)
	case r.Method != http.MethodPost:
		return notAllowed(w, r, http.MethodPost)
	}
	pacer := s.cluster.Pacer()
	if pacer == nil {
		return s.notPaced()
	}
	_ = http.NewResponseController(w).SetReadDeadline(clock.Real().Now().Add(clientTimeout)) // a client in the process has none
	act, err := verb(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	if err := act(ctx, pacer); err != nil {
		return explain(err)
	}
	state, _ := stateOf(s.cluster)
	return answer(w, &state)
}

// notPaced explains why the clock cannot be controlled.
func (s *service) notPaced() error {
	return conflict(fmt.Sprintf("the cluster's clock is %s and cannot be controlled: start the cluster with --clock=virtual, and without --etcd-servers", s.cluster.Info().Clock.Mode))
}

// serveState responds with the state, and with follow=true again whenever it changes, until the
// client is gone.
func (s *service) serveState(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	follow := false
	if text := r.URL.Query().Get("follow"); text != "" {
		var err error
		if follow, err = strconv.ParseBool(text); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("follow=%q is neither true nor false", text))
		}
	}
	ticker := clock.Real().NewTicker(followInterval)
	defer ticker.Stop()
	for {
		state, changed := stateOf(s.cluster)
		if err := answer(w, &state); err != nil || !follow {
			return nil // if it failed, the client is gone
		}
		_ = http.NewResponseController(w).Flush() // a client in the process need not be flushed to
		select {
		case <-changed:
		case <-ticker.C():
		case <-ctx.Done():
			return nil
		}
	}
}

func answer(w http.ResponseWriter, state *State) error {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(clock.Real().Now().Add(clientTimeout)) // a client in the process has none
	return json.NewEncoder(w).Encode(state)
}

// explain returns the API error for a failed verb.
func explain(err error) error {
	switch {
	case errors.Is(err, clock.ErrNoTimer):
		return conflict("no timer is set, so there is no next one to step to")
	case errors.Is(err, clock.ErrClosed), errors.Is(err, context.Canceled):
		return errClosing()
	}
	return err
}

func errClosing() error {
	return apierrors.NewServiceUnavailable("the cluster is closing: its clock stands still")
}

func conflict(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: message,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource},
	}}
}

func notAllowed(w http.ResponseWriter, r *http.Request, allowed string) error {
	w.Header().Set("Allow", allowed)
	return apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method))
}

// Close implements minikcm.Service.
func (s *service) Close() error {
	s.requests.Close()
	return nil
}
