package clockapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/openrequests"
)

// followInterval is the machine's time between two states of a stream while only the time changes.
const followInterval = time.Second

var resource = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}

// Extension serves the clock.
func Extension() minikcm.Extension {
	return minikcm.Extension{
		Name: Feature,
		Kinds: []minikcm.Kind{{Definition: definition, Ticks: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return s.(*service).object
		}}},
		Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
			return &service{cluster: cluster, object: &object{cluster: cluster}}, nil
		},
	}
}

type service struct {
	cluster  *minikcm.Cluster
	object   *object
	requests openrequests.Group
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, errClosing(), minikcm.WriteError, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		return Serve(ctx, w, r, s.cluster, strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/"))
	})
}

// Serve serves a request for the clock of a cluster until ctx ends: for its state if verb is
// empty, and otherwise for the verb at the end of the path. It returns the API error that is the
// response.
func Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, cluster *minikcm.Cluster, verb string) error {
	read, known := verbs[verb]
	switch {
	case verb == "" && r.Method == http.MethodGet:
		return serveState(ctx, w, r, cluster)
	case verb == "":
		return openrequests.NotAllowed(w, r, resource, http.MethodGet)
	case !known:
		return apierrors.NewNotFound(resource, verb)
	case r.Method != http.MethodPost:
		return openrequests.NotAllowed(w, r, resource, http.MethodPost)
	}
	if _, err := openrequests.Parameters(r); err != nil {
		return err
	}
	pacer := cluster.Pacer()
	if pacer == nil {
		return notPaced(cluster)
	}
	act, err := readAction(w, r, read)
	if err != nil {
		return err
	}
	if err := act(ctx, pacer); err != nil {
		return explain(err)
	}
	state, _ := stateOf(cluster)
	openrequests.Answer(w, http.StatusOK, &state)
	return nil
}

// readAction reads a request's body. Afterwards the client has no deadline: the action may take
// longer.
func readAction(w http.ResponseWriter, r *http.Request, read func(body []byte) (action, error)) (action, error) {
	body, err := openrequests.ReadBody(w, r, maxBody, "a request to the clock", "reading the body")
	if err != nil {
		return nil, err
	}
	return read(body)
}

// notPaced explains why the clock cannot be controlled.
func notPaced(cluster *minikcm.Cluster) error {
	return conflict(fmt.Sprintf("the cluster's clock is %s and cannot be controlled: start the cluster with --clock=virtual, and without --etcd-servers", cluster.Info().Clock.Mode))
}

// serveState responds with the state, and with follow=true again whenever it changes, until the
// client is gone.
func serveState(ctx context.Context, w http.ResponseWriter, r *http.Request, cluster *minikcm.Cluster) error {
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	ticker := clock.Real().NewTicker(followInterval)
	defer ticker.Stop()
	for {
		state, changed := stateOf(cluster)
		if !follow {
			openrequests.Answer(w, http.StatusOK, &state)
			return nil
		}
		w.Header().Set("Content-Type", "application/json")
		if openrequests.WriteLine(w, &state) != nil {
			return nil // the client is gone
		}
		select {
		case <-changed:
		case <-ticker.C():
		case <-ctx.Done():
			return nil
		}
	}
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

// Close implements minikcm.ExtensionHandler.
func (s *service) Close() error {
	s.requests.Close()
	s.object.close()
	return nil
}
