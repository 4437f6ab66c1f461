package forkapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "forks"
	Path    = "/minikcm/v1/" + Feature

	// maxForks caps the forks that run at a time: each is a cluster of its own.
	maxForks = 4
	// maxBody caps the body of a request, in bytes.
	maxBody = 1 << 10
	// bodyTimeout is how long a client may take to send it, by the machine's clock.
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
	// Extensions are those of a fork, besides its page.
	Extensions func() []minikcm.Extension
}

// Extension serves forks.
func Extension(opts Options) minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.Service, error) {
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

// ServeHTTP implements minikcm.Service.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, end, ok := s.requests.Begin(r.Context())
	if !ok {
		minikcm.AnswerError(w, errClosed)
		return
	}
	defer end()
	if err := s.serve(ctx, w, r); err != nil {
		minikcm.AnswerError(w, err)
	}
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	id, what, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/"), "/")
	switch {
	case what == comparisonName && r.Method == http.MethodGet:
		return s.serveComparison(ctx, w, r, id)
	case what == comparisonName:
		return notAllowed(w, r, http.MethodGet)
	case what != "":
		return apierrors.NewNotFound(resource, id+"/"+what)
	case id == "" && r.Method == http.MethodGet:
		return answer(w, http.StatusOK, s.list())
	case id == "" && r.Method == http.MethodPost:
		return s.serveFork(ctx, w, r)
	case id == "":
		return notAllowed(w, r, "GET, POST")
	case r.Method == http.MethodDelete:
		return s.serveEnd(w, id)
	}
	return notAllowed(w, r, http.MethodDelete)
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
		at = writes[len(writes)-1].Time
	}
	return revision, at.Add(time.Second - 1).Truncate(time.Second), nil
}

func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(clock.Real().Now().Add(bodyTimeout)) // a client in the process has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
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

func notAllowed(w http.ResponseWriter, r *http.Request, allowed string) error {
	w.Header().Set("Allow", allowed)
	return apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method))
}

// Close implements minikcm.Service: it ends all forks.
func (s *service) Close() error {
	s.requests.Close()
	var errs []error
	for _, f := range s.forks { // no request runs any more
		errs = append(errs, f.stop())
	}
	return errors.Join(errs...)
}
