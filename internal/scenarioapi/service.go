package scenarioapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

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
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		faults, _ := cluster.Service(faultapi.Feature).(faultapi.Runner)
		return &service{cluster: cluster, faults: faults, abandon: make(chan struct{})}, nil
	}}
}

// service runs scenarios in a cluster, and keeps the newest runs.
type service struct {
	cluster  *minikcm.Cluster
	faults   faultapi.Runner
	requests openrequests.Group
	// abandon is closed when the cluster closes.
	abandon chan struct{}
	news    openrequests.News

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
}

// begin begins to run a scenario that was checked.
func (s *service) begin(scenario *scenarios.Scenario, asked *request, user string) (*running, error) {
	if err := scenarios.PossibleOn(scenario, s.cluster); err != nil {
		return nil, invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if n := len(s.runs); n > 0 && !s.runs[n-1].isDone() {
		r := s.runs[n-1].look(true)
		return nil, apierrors.NewConflict(resource, scenario.Metadata.Name, fmt.Errorf("the scenario %s runs (%s), and two would disturb one another: wait for its end, or stop it", r.Scenario, r.ID))
	}
	s.last++
	seed := asked.Seed
	if seed == 0 {
		seed = max(scenario.Spec.Cluster.Seed, 1)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	r := &running{stop: stop, done: make(chan struct{})}
	r.tracker = newTracker("run-"+strconv.Itoa(s.last), user, scenario, seed, s.cluster.Clock(), s.news.Publish)
	s.runs = append(s.runs, r)
	s.runs = slices.Delete(s.runs, 0, max(0, len(s.runs)-maxRuns))
	s.works.Go(func() {
		defer stop(nil)
		defer close(r.done)
		result, err := scenarios.Run(ctx, scenario, scenarios.Options{
			Progress: r.tracker, Seed: seed, Cluster: s.cluster, Faults: s.faults, Abandon: s.abandon,
			Set: asked.Set, Namespace: asked.Namespace, Overwrite: asked.Overwrite,
		})
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err == nil {
			r.report(result, asked)
		}
		r.ended(result, err)
	})
	s.news.Publish()
	return r, nil
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
		if r.look(true).ID == id {
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
