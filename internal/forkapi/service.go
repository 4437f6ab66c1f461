package forkapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/clockapi"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/ui"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "forks"
	Path    = "/minikcm/v1/" + Feature
	// comparisonName is the path of a fork's comparison, beneath its own.
	comparisonName = "comparison"

	// maxForks caps the forks that run at a time: each is a cluster of its own.
	maxForks = 4
	// maxBody caps the body of a request, in bytes.
	maxBody = 1 << 10
	// bodyTimeout bounds the time, by the machine's clock, that a client may need to send it.
	bodyTimeout = 30 * time.Second
)

var (
	resource  = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}
	errClosed = apierrors.NewServiceUnavailable("the cluster is closing: it cannot be forked any more")
)

// Options of the extension.
type Options struct {
	// Cluster are the options of the cluster that is forked.
	Cluster minikcm.Options
	// Extensions returns a fork's extensions, besides its page.
	Extensions func() []minikcm.Extension
	// Page are the options of a fork's page.
	Page ui.Options
}

// Extension serves forks.
func Extension(opts Options) minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		return &service{cluster: cluster, opts: opts, comparing: make(chan struct{}, maxComparisons)}, nil
	}}
}

type service struct {
	cluster  *minikcm.Cluster
	opts     Options
	requests openrequests.Group

	// starting is held while a fork starts: one at a time.
	starting sync.Mutex
	// comparing holds a token for each comparison that is made or streamed.
	comparing chan struct{}
	mu        sync.Mutex
	last      int
	forks     []*running // oldest first
}

// request is the body of a POST. Revision 0 is the newest.
type request struct {
	Revision int64 `json:"revision"`
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, errClosed, minikcm.WriteError, s.serve)
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	id, rest, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/"), "/")
	what, verb, _ := strings.Cut(rest, "/")
	switch {
	case what == clockapi.Feature:
		return s.ofFork(ctx, id, func(ctx context.Context, fork *running) error {
			return clockapi.Serve(ctx, w, r, fork.cluster, verb)
		})
	case rest == comparisonName:
		return s.ofFork(ctx, id, func(ctx context.Context, fork *running) error {
			return s.serveComparison(ctx, w, r, fork)
		})
	case rest != "":
		return apierrors.NewNotFound(resource, id+"/"+rest)
	}
	return s.serveForks(ctx, w, r, id)
}

// ofFork calls serve with a fork and a context that also ends with the fork.
func (s *service) ofFork(ctx context.Context, id string, serve func(ctx context.Context, fork *running) error) error {
	fork := s.find(id)
	if fork == nil {
		return apierrors.NewNotFound(resource, id)
	}
	ctx, end, ok := fork.requests.Begin(ctx)
	if !ok { // it ends at this moment
		return apierrors.NewNotFound(resource, id)
	}
	defer end()
	return serve(ctx, fork)
}

// serveForks serves the list of the forks, or one of them if id is not empty.
func (s *service) serveForks(ctx context.Context, w http.ResponseWriter, r *http.Request, id string) error {
	if _, err := openrequests.Parameters(r); err != nil {
		return err
	}
	switch {
	case id == "" && r.Method == http.MethodGet:
		return answer(w, http.StatusOK, s.list())
	case id == "" && r.Method == http.MethodPost:
		return s.serveFork(ctx, w, r)
	case id == "":
		return openrequests.NotAllowed(w, r, resource, "GET, POST")
	case r.Method == http.MethodDelete:
		return s.serveEnd(w, id)
	}
	return openrequests.NotAllowed(w, r, resource, http.MethodDelete)
}

func (s *service) list() []Fork {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := []Fork{}
	for _, f := range s.forks {
		shown = append(shown, f.shown)
	}
	return shown
}

// serveFork starts a fork, and responds when its nodes are Ready.
func (s *service) serveFork(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	asked, err := readRequest(w, r)
	if err != nil {
		return err
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if n := len(s.list()); n >= maxForks {
		return apierrors.NewTooManyRequests(fmt.Sprintf("%d forks run, and more are not allowed: end one first", n), 0)
	}
	revision, at, err := s.moment(ctx, asked.Revision)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.last++
	id := "fork-" + strconv.Itoa(s.last)
	s.mu.Unlock()
	fork, err := start(ctx, &s.opts, s.cluster.Config(), id, revision, at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.forks = append(s.forks, fork)
	s.mu.Unlock()
	shown := fork.shown
	shown.Link = fork.page.Link()
	w.Header().Set("Location", Path+"/"+id)
	return answer(w, http.StatusCreated, shown)
}

// moment returns a revision, the newest for 0, and the whole second after its time. The write
// record knows the time; of a revision before its beginning, the cluster's time is returned.
func (s *service) moment(ctx context.Context, revision int64) (int64, time.Time, error) {
	list, err := s.cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, time.Time{}, err
	}
	newest, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	switch {
	case err != nil:
		return 0, time.Time{}, fmt.Errorf("parsing the newest revision: %w", err)
	case revision > newest:
		// A client would retry the lists until the cluster is there.
		return 0, time.Time{}, apierrors.NewBadRequest(fmt.Sprintf("revision %d is none of the past: the newest is %d", revision, newest))
	case revision == 0:
		revision = newest
	}
	at := s.cluster.Clock().Now()
	writes := s.cluster.Writes().Writes(func(w *minikcm.Write) bool { return w.Revision <= revision })
	if len(writes) > 0 {
		at = slices.MaxFunc(writes, func(a, b minikcm.Write) int { return cmp.Compare(a.Revision, b.Revision) }).Time
	}
	return revision, at.Add(time.Second - 1).Truncate(time.Second), nil
}

func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	data, err := openrequests.ReadBody(w, r, maxBody, clock.Real().Now().Add(bodyTimeout))
	switch {
	case errors.Is(err, openrequests.ErrTooLarge):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the request for a fork may have %d bytes", maxBody))
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading which revision to fork: %v", err))
	}
	asked := &request{}
	if len(bytes.TrimSpace(data)) == 0 {
		return asked, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(asked); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(`reading which revision to fork, such as {"revision": 1234}: %v`, err))
	}
	if asked.Revision < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("revision must not be negative: %d", asked.Revision))
	}
	return asked, nil
}

func (s *service) find(id string) *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.forks, func(f *running) bool { return f.shown.ID == id }); i >= 0 {
		return s.forks[i]
	}
	return nil
}

// serveEnd ends a fork, and responds when it has ended.
func (s *service) serveEnd(w http.ResponseWriter, id string) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.forks, func(f *running) bool { return f.shown.ID == id })
	if i < 0 {
		s.mu.Unlock()
		return apierrors.NewNotFound(resource, id)
	}
	fork := s.forks[i]
	s.forks = slices.Delete(s.forks, i, i+1)
	s.mu.Unlock()
	if err := fork.stop(); err != nil {
		return err
	}
	return answer(w, http.StatusOK, fork.shown)
}

func answer(w http.ResponseWriter, code int, body any) error {
	openrequests.Answer(w, code, body)
	return nil
}

// Close implements minikcm.ExtensionHandler: it ends all forks.
func (s *service) Close() error {
	s.requests.Close()
	var errs []error
	for _, f := range s.forks { // no request runs any more
		errs = append(errs, f.stop())
	}
	return errors.Join(errs...)
}
