package faultapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/scenarios/fault"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "faults"
	Path    = "/minikcm/v1/" + Feature

	// User makes the requests of faults.
	User = "minikcm:fault"

	// maxRunning caps the faults that are not done, and maxDone the done ones that are
	// still listed.
	maxRunning = 100
	maxDone    = 100
)

// Options of the extension.
type Options struct {
	// Exempt are users whose requests faults of the API server pass over, beside User.
	Exempt []string
}

// Extension serves faults. Faults of the API server and of etcd need
// minikcm.FaultOptions.
func Extension(opts Options) minikcm.Extension {
	return minikcm.Extension{
		Name: Feature,
		Kinds: []minikcm.Kind{{Definition: definition(), Creates: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return objects{s.(*service)}
		}}},
		Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
			return &service{
				cluster: cluster, exempt: append([]string{User}, opts.Exempt...), random: clock.NewRandom(cluster.Seed()).Keyed(Feature),
			}, nil
		},
	}
}

// service injects faults into a cluster, and keeps the ones that are not done.
type service struct {
	cluster *minikcm.Cluster
	exempt  []string
	holds   fault.Holds

	mu     sync.Mutex
	random *clock.Random
	last   int
	faults []*running // oldest first
	closed bool
	works  sync.WaitGroup

	news    openrequests.News
	follows openrequests.Group
}

// errClosed refuses faults of a cluster that closes.
var errClosed = apierrors.NewServiceUnavailable("the cluster is closing: nothing can be broken any more")

// injectOptions say who injects a fault, and how.
type injectOptions struct {
	user string
	// seed determines the targets; 0: the cluster's seed does.
	seed uint64
	// name is the ID; empty: the next number is.
	name string
	// given is the document as the client sent it, if it is shown so.
	given json.RawMessage
	// dryRun makes all checks, and injects nothing. The fault is nil.
	dryRun bool
}

// inject begins a fault that was checked.
func (s *service) inject(f *fault.Fault, opts injectOptions) (*running, error) {
	document, err := documentOf(f)
	if err != nil {
		return nil, err
	}
	if err := f.Possible(&fault.Env{Cluster: s.cluster}); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if n := s.runningLocked(); n >= maxRunning {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d faults are not over yet, and more are not allowed: stop some first", n), 0)
	}
	if slices.ContainsFunc(s.faults, func(r *running) bool { return r.shown.ID == opts.name }) { // which never changes
		return nil, apierrors.NewAlreadyExists(liveResource, opts.name)
	}
	if opts.dryRun {
		return nil, nil
	}
	id := opts.name
	if id == "" {
		id = s.nextIDLocked()
	}
	random := s.random.Fork()
	if opts.seed != 0 {
		random = clock.NewRandom(opts.seed)
	}
	env, err := s.env(id, random)
	if err != nil {
		return nil, err
	}
	r := newRunning(id, opts.user, f, document, s.cluster.Clock(), &s.news)
	r.given = opts.given
	s.faults = append(s.faults, r)
	s.forgetLocked()
	s.news.Publish()
	s.runLocked(r, env)
	return r, nil
}

// runLocked starts a fault. Its goroutine is in flight while it does not wait.
func (s *service) runLocked(r *running, env fault.Env) {
	work := inflight.Begin(s.cluster.Ledger(), inflight.Action)
	working := inflight.With(context.Background(), work)
	ctx, stop := inflight.WithCancelCause(working)
	urgent, hurried := inflight.WithCancelCause(working)
	hurry := func() { hurried(nil) }
	r.stop, r.hurry = stop, hurry
	env.Note, env.Injected = r.note, r.injected
	env.TakeBack = func(ctx context.Context, undo func(context.Context) error) error {
		return r.takeBack(ctx, urgent, undo)
	}
	s.works.Go(func() {
		defer work.End()
		defer hurry()
		err := r.fault.Run(ctx, env)
		cause := context.Cause(ctx)
		stop(nil)
		r.ended(err, cause)
	})
}

// env returns the cluster as a fault needs it.
func (s *service) env(id string, random *clock.Random) (fault.Env, error) {
	config := s.cluster.ConfigFor(User, "system:masters")
	config.UserAgent = "minikcm-fault/" + id
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fault.Env{}, fmt.Errorf("making the client of a fault: %w", err)
	}
	return fault.Env{
		Cluster: s.cluster, Client: client, Clock: s.cluster.Clock(), Random: random, Exempt: s.exempt, Holds: &s.holds,
	}, nil
}

// documentOf returns a fault in JSON, with the fields that a scenario has.
func documentOf(f *fault.Fault) (json.RawMessage, error) {
	text, err := yamlv3.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encoding the fault: %w", err)
	}
	return yaml.YAMLToJSON(text)
}

// nextIDLocked returns an ID that no fault has.
func (s *service) nextIDLocked() string {
	for {
		s.last++
		id := "f-" + strconv.Itoa(s.last)
		if !slices.ContainsFunc(s.faults, func(r *running) bool { return r.shown.ID == id }) { // which never changes
			return id
		}
	}
}

// forget removes a fault that is done.
func (s *service) forget(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(other *running) bool { return other == r })
	s.news.Publish()
}

func (s *service) runningLocked() int {
	n := 0
	for _, r := range s.faults {
		if !r.isDone() {
			n++
		}
	}
	return n
}

func (r *running) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// forgetLocked forgets the oldest faults that are done, if there are too many.
func (s *service) forgetLocked() {
	surplus := len(s.faults) - s.runningLocked() - maxDone
	s.faults = slices.DeleteFunc(s.faults, func(r *running) bool {
		if surplus <= 0 || !r.isDone() {
			return false
		}
		surplus--
		return true
	})
}

// list returns the faults, oldest first.
func (s *service) list() []*running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

func (s *service) find(id string) *running {
	for _, r := range s.list() {
		if r.shown.ID == id { // which never changes
			return r
		}
	}
	return nil
}

// Close implements minikcm.ExtensionHandler: it takes back all faults. Those of the API server and
// of etcd come first, so that the others can be taken back by requests, the newest first.
func (s *service) Close() error {
	s.follows.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	faults := slices.DeleteFunc(s.list(), func(r *running) bool { return r.isDone() || r.adopted })
	slices.Reverse(faults)
	slices.SortStableFunc(faults, endsFirst)
	var errs []error
	for _, r := range faults {
		r.stop(errClosing)
		r.hurry()
		<-r.done
		if r.failure != nil {
			errs = append(errs, fmt.Errorf("taking back the fault %s (%s): %w", r.shown.ID, r.shown.Title, r.failure))
		}
	}
	s.works.Wait()
	return errors.Join(errs...)
}

// endsFirst orders the faults that keep the API server from answering before the others.
func endsFirst(a, b *running) int {
	rank := func(r *running) int {
		if r.fault.APIServer != nil || r.fault.Etcd != nil || r.fault.Webhooks != nil {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}
