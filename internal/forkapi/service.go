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
)

var (
	resource  = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}
	errEnded  = errors.New("the fork was ended while it started")
	errClosed = apierrors.NewServiceUnavailable("the cluster is closing: it cannot be forked any more")
)

// Options of the extension.
type Options struct {
	// Cluster are the options of the cluster that is forked.
	Cluster minikcm.Options
	// Extensions returns a fork's extensions, besides its page.
	Extensions func() []minikcm.Extension
	// Page are the options of a fork's page; nil: it has none.
	Page *ui.Options
}

// Extension serves forks.
func Extension(opts Options) minikcm.Extension {
	return minikcm.Extension{
		Name: Feature,
		Kinds: []minikcm.Kind{{Definition: definition, Ticks: true, Creates: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return objects{s.(*service)}
		}}},
		Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
			return &service{cluster: cluster, opts: opts, comparing: make(chan struct{}, maxComparisons)}, nil
		},
	}
}

type service struct {
	cluster  *minikcm.Cluster
	opts     Options
	requests openrequests.Group

	// starting is held while a fork starts: one at a time.
	starting sync.Mutex
	// comparing holds a token for each comparison that is made or streamed.
	comparing chan struct{}
	news      openrequests.News
	mu        sync.Mutex
	closed    bool
	last      int
	forks     []*running // oldest first
	works     sync.WaitGroup
}

// request is the body of a POST. Revision 0 is the newest.
type request struct {
	Revision int64 `json:"revision,omitempty"`
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
		return s.serveEnd(ctx, w, id)
	}
	return openrequests.NotAllowed(w, r, resource, http.MethodDelete)
}

func (s *service) list() []Fork {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := []Fork{}
	for _, f := range s.forks {
		if f.phase == phaseRunning {
			shown = append(shown, f.shown)
		}
	}
	return shown
}

// serveFork starts a fork, and responds when its nodes are Ready.
func (s *service) serveFork(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	asked, err := readRequest(w, r)
	if err != nil {
		return err
	}
	given, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	fork, err := s.begin(ctx, beginOptions{request: *asked, user: minikcm.RequestUser(r), given: given})
	var wrong *revisionError
	if errors.As(err, &wrong) {
		return apierrors.NewBadRequest(fmt.Sprintf("revision %d %v", asked.Revision, wrong))
	}
	if err != nil {
		return err
	}
	select {
	case <-fork.started:
	case <-ctx.Done(): // the client is gone
		return s.end(context.WithoutCancel(ctx), fork)
	}
	s.mu.Lock()
	shown, failure, phase := fork.shown, fork.failure, fork.phase
	if phase == phaseRunning && fork.page != nil {
		shown.Link = fork.page.Link()
	}
	s.mu.Unlock()
	if phase != phaseRunning {
		return errors.Join(cmp.Or(failure, errEnded), s.end(context.WithoutCancel(ctx), fork))
	}
	w.Header().Set("Location", Path+"/"+shown.ID)
	return answer(w, http.StatusCreated, shown)
}

// revisionError says why a revision cannot be forked.
type revisionError struct{ why string }

func (e *revisionError) Error() string { return e.why }

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
		return 0, time.Time{}, &revisionError{fmt.Sprintf("is none of the past: the newest is %d", newest)}
	case revision == 0:
		revision = newest
	case revision < newest: // which may be compacted
		exact := metav1.ListOptions{Limit: 1, ResourceVersion: strconv.FormatInt(revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		if _, err := s.cluster.Client().CoreV1().Namespaces().List(ctx, exact); err != nil {
			return 0, time.Time{}, err
		}
	}
	at := s.cluster.Clock().Now()
	writes := s.cluster.Writes().Writes(func(w *minikcm.Write) bool { return w.Revision <= revision })
	if len(writes) > 0 {
		at = slices.MaxFunc(writes, func(a, b minikcm.Write) int { return cmp.Compare(a.Revision, b.Revision) }).Time
	}
	return revision, at.Add(time.Second - 1).Truncate(time.Second), nil
}

func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	data, err := openrequests.ReadBody(w, r, maxBody, "the request for a fork", "reading which revision to fork")
	if err != nil {
		return nil, err
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
	if i := slices.IndexFunc(s.forks, func(f *running) bool { return f.shown.ID == id && f.phase == phaseRunning }); i >= 0 {
		return s.forks[i]
	}
	return nil
}

// serveEnd ends a fork, and responds when it has ended.
func (s *service) serveEnd(ctx context.Context, w http.ResponseWriter, id string) error {
	fork := s.find(id)
	if fork == nil {
		return apierrors.NewNotFound(resource, id)
	}
	if err := s.end(ctx, fork); err != nil {
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
	s.mu.Lock()
	s.closed = true
	forks := slices.Clone(s.forks)
	s.mu.Unlock()
	var errs []error
	for _, f := range forks {
		errs = append(errs, s.end(context.Background(), f))
	}
	s.works.Wait()
	return errors.Join(errs...)
}
