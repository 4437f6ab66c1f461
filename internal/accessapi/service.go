package accessapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/accessrecord"
	"minikcm.dev/minikcm/internal/leastprivilege"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "access"
	Path    = "/minikcm/v1/" + Feature
)

var errClosed = apierrors.NewServiceUnavailable("the cluster is closing: nothing can be recorded any more")

var resource = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}

// Started is the first line of the response to a POST.
type Started struct {
	ID   string `json:"id"`
	User string `json:"user"`
}

// Record lists the requests of a user.
type Record struct {
	Requests []leastprivilege.Request `json:"requests"`
	// Incomplete reports that there was more than is kept.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Extension serves recordings.
func Extension() minikcm.Extension {
	return minikcm.Extension{
		Name: Feature,
		Kinds: []minikcm.Kind{{Definition: definition, Ticks: true, Creates: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return objects{s.(*service)}
		}}},
		Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
			return &service{cluster: cluster, running: map[string]*recording{}}, nil
		},
	}
}

// recording is a recording that goes on. It ends with the stream of the request that began it, or with its object.
type recording struct {
	*accessrecord.Recording
	id    string
	spec  recordingSpec
	ended chan struct{}
	once  sync.Once
}

type service struct {
	cluster *minikcm.Cluster
	streams openrequests.Group
	news    openrequests.News

	mu      sync.Mutex
	closed  bool
	last    int
	running map[string]*recording
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	var err error
	switch {
	case r.Method == http.MethodPost && id == "":
		err = s.serveStart(w, r)
	case r.Method == http.MethodGet && id != "":
		err = s.serveRecord(w, id, false)
	case r.Method == http.MethodDelete && id != "":
		err = s.serveRecord(w, id, true)
	default:
		err = apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method))
	}
	if err != nil {
		minikcm.WriteError(w, err)
	}
}

// serveStart records the requests of the user in the parameter user until the client is
// gone or the recording is deleted.
func (s *service) serveStart(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	enforce := false
	if text := query.Get("enforce"); text != "" {
		var err error
		if enforce, err = strconv.ParseBool(text); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("enforce=%q is neither true nor false", text))
		}
	}
	ctx, end, ok := s.streams.Begin(r.Context())
	if !ok {
		return errClosed
	}
	defer end()
	started, err := s.begin(recordingSpec{User: query.Get("user"), Enforce: enforce}, "", false)
	if err != nil {
		return err
	}
	defer s.end(started)
	w.Header().Set("Content-Type", "application/json;stream=watch")
	w.WriteHeader(http.StatusCreated)
	if openrequests.WriteLine(w, Started{ID: started.id, User: started.spec.User}) != nil {
		return nil // the client is gone
	}
	select {
	case <-started.ended:
	case <-ctx.Done():
	}
	return nil
}

// begin begins a recording. Without an ID, it gets the next number. A dry run makes all checks, and returns nil.
func (s *service) begin(spec recordingSpec, id string, dryRun bool) (*recording, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.running[id] != nil:
		return nil, apierrors.NewAlreadyExists(liveResource, id)
	}
	recorded, err := s.cluster.RecordAccess(spec.User, spec.Enforce || dryRun)
	if err != nil {
		return nil, err
	}
	if dryRun {
		recorded.End()
		return nil, nil
	}
	for id == "" || s.running[id] != nil {
		s.last++
		id = strconv.Itoa(s.last)
	}
	one := &recording{Recording: recorded, id: id, spec: spec, ended: make(chan struct{})}
	s.running[id] = one
	s.news.Publish()
	return one, nil
}

// end ends a recording, and forgets it.
func (s *service) end(r *recording) {
	r.once.Do(func() {
		r.End()
		close(r.ended)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, r.id)
		s.news.Publish()
	})
}

func (s *service) serveRecord(w http.ResponseWriter, id string, end bool) error {
	s.mu.Lock()
	one := s.running[id]
	s.mu.Unlock()
	if one == nil {
		return apierrors.NewNotFound(resource, id)
	}
	if end {
		s.end(one)
	}
	requests, complete := one.Requests()
	openrequests.Answer(w, http.StatusOK, Record{Requests: requests, Incomplete: !complete})
	return nil
}

// Close implements minikcm.ExtensionHandler.
func (s *service) Close() error {
	s.streams.Close()
	s.mu.Lock()
	s.closed = true
	running := slices.Collect(maps.Values(s.running))
	s.mu.Unlock()
	for _, r := range running {
		s.end(r)
	}
	return nil
}
