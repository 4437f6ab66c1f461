package scenarioapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/scenarios"
)

const (
	// Feature is the name of the extension, and Path where it is served. The runs are beneath
	// Path + "/runs".
	Feature  = "scenarios"
	Path     = "/minikcm/v1/" + Feature
	runsName = "runs"

	// maxRuns caps the runs that are listed, including the present one.
	maxRuns = 20
	// maxSteps caps the steps of a scenario, without the steps within them.
	maxSteps = 1000
)

var (
	resource   = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}
	kind       = schema.GroupKind{Group: "minikcm.dev", Kind: "Scenario"}
	errClosed  = apierrors.NewServiceUnavailable("the cluster is closing: no scenario can run any more")
	errStopped = errors.New("stopped on request")
	errClosing = errors.New("stopped, as the cluster closes")
)

// Extension serves scenarios. Their faults are listed by the extension of faultapi, which has to
// be before this one if the cluster has it.
func Extension() minikcm.Extension {
	return minikcm.Extension{
		Name: Feature,
		Kinds: []minikcm.Kind{{Definition: definition(), Creates: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return objects{s.(*service)}
		}}},
		Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
			faults, _ := cluster.Service(faultapi.Feature).(faultapi.Runner)
			return &service{cluster: cluster, faults: faults, abandon: make(chan struct{})}, nil
		},
	}
}

// service runs scenarios in a cluster, and keeps the newest runs.
type service struct {
	cluster  *minikcm.Cluster
	faults   faultapi.Runner
	requests openrequests.Group
	// abandon is closed when the cluster closes.
	abandon chan struct{}
	news    openrequests.News

	// versions is the version of the newest change.
	versions atomic.Uint64

	mu     sync.Mutex
	closed bool
	last   int
	runs   []*running // oldest first; the last one may go on
	works  sync.WaitGroup
}

// running is a run of a scenario, also when it is over.
type running struct {
	*tracker
	stop context.CancelCauseFunc
	done chan struct{}
	// given is the spec of the object.
	given json.RawMessage

	objectMu sync.Mutex
	// shownObject is the object of its version.
	shownObject minikcm.LiveObject
}

// beginOptions say what is run, and who wants it.
type beginOptions struct {
	request
	user string
	// name is the ID; empty: the next number is.
	name string
	// given is the spec of the object.
	given json.RawMessage
	// dryRun makes all checks, and begins nothing. The run is nil.
	dryRun bool
}

// begin begins to run a scenario that was checked, and is possible on the cluster.
func (s *service) begin(scenario *scenarios.Scenario, opts beginOptions) (*running, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if n := len(s.runs); n > 0 {
		if r := s.runs[n-1].look(true); !r.State.Done() {
			return nil, apierrors.NewConflict(resource, scenario.Metadata.Name, fmt.Errorf("the scenario %s runs (%s), and two would disturb one another: wait for its end, or stop it", r.Scenario, r.ID))
		}
	}
	if slices.ContainsFunc(s.runs, func(r *running) bool { return r.id == opts.name }) {
		return nil, apierrors.NewAlreadyExists(liveResource, opts.name)
	}
	if opts.dryRun {
		return nil, nil
	}
	id := opts.name
	if id == "" {
		id = s.nextIDLocked()
	}
	seed := opts.Seed
	if seed == 0 {
		seed = max(scenario.Spec.Cluster.Seed, 1)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	r := &running{stop: stop, done: make(chan struct{}), given: opts.given}
	r.tracker = newTracker(id, opts.user, scenario, seed, s.cluster.Clock(), s.changed)
	s.runs = append(s.runs, r)
	s.runs = slices.Delete(s.runs, 0, max(0, len(s.runs)-maxRuns))
	s.works.Go(func() {
		defer stop(nil)
		defer close(r.done)
		result, err := scenarios.Run(ctx, scenario, scenarios.Options{
			Progress: r.tracker, Seed: seed, Cluster: s.cluster, Faults: s.faults, Abandon: s.abandon,
			Set: opts.Set, Namespace: opts.Namespace, Overwrite: opts.Overwrite,
		})
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		r.report(recordOf(r, scenario, &opts.request, result, err))
		r.ended(result, err)
	})
	s.news.Publish()
	return r, nil
}

// changed reports a change of a run, and returns its version.
func (s *service) changed() uint64 {
	version := s.versions.Add(1)
	s.news.Publish()
	return version
}

// nextIDLocked returns an ID that no run has.
func (s *service) nextIDLocked() string {
	for {
		s.last++
		id := "run-" + strconv.Itoa(s.last)
		if !slices.ContainsFunc(s.runs, func(r *running) bool { return r.id == id }) {
			return id
		}
	}
}

// end stops a run that goes on, and returns when it has ended, or false when ctx has.
func (s *service) end(ctx context.Context, r *running) bool {
	if !r.isDone() {
		r.stopping()
		r.stop(errStopped)
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// forget removes a run that has ended.
func (s *service) forget(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = slices.DeleteFunc(s.runs, func(other *running) bool { return other == r })
	s.news.Publish()
}

func (r *running) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// list returns the runs, oldest first.
func (s *service) list() []*running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

func (s *service) find(id string) *running {
	for _, r := range s.list() {
		if r.id == id {
			return r
		}
	}
	return nil
}

// Close implements minikcm.ExtensionHandler: it ends the run that goes on, whose faults are taken back.
func (s *service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, r := range s.list() {
		r.stop(errClosing)
	}
	close(s.abandon)
	s.works.Wait()
	s.requests.Close()
	return nil
}
