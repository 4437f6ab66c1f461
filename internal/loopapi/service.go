package loopapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "loops"
	Path    = "/minikcm/v1/" + Feature

	// lineInterval is the machine's time between two lines of a stream while the loops make
	// steps, and idleInterval while they make none.
	lineInterval = 200 * time.Millisecond
	idleInterval = 5 * time.Second
)

var resource = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}

// Loops are the loops of a controller at one moment.
type Loops struct {
	// Now is the cluster's time.
	Now        time.Time    `json:"now"`
	Controller string       `json:"controller"`
	Loops      []loop.State `json:"loops"`
	// Steps are those since the previous line of the stream: the newest, of which Forgotten
	// older ones are left out.
	Steps     []loop.Step `json:"steps,omitempty"`
	Forgotten int         `json:"forgotten,omitempty"`
}

// Extension serves the loops.
func Extension() minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		return &service{cluster: cluster}, nil
	}}
}

type service struct {
	cluster  *minikcm.Cluster
	requests openrequests.Group
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, apierrors.NewServiceUnavailable("the cluster is closing: its controllers stop"), minikcm.WriteError, s.serve)
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return openrequests.NotAllowed(w, r, resource, http.MethodGet)
	}
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	if _, ok := s.cluster.ControllerLoops(name); !ok {
		return apierrors.NewNotFound(resource, name)
	}
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	if follow {
		s.stream(ctx, w, name)
		return nil
	}
	loops, _ := s.cluster.ControllerLoops(name)
	openrequests.Answer(w, http.StatusOK, s.shown(name, loops))
	return nil
}

func (s *service) shown(name string, loops []loop.Loop) *Loops {
	shown := &Loops{Now: s.cluster.Clock().Now().UTC(), Controller: name, Loops: []loop.State{}}
	for _, l := range loops {
		shown.Loops = append(shown.Loops, l.State())
	}
	return shown
}

// stream writes a line now, after steps, and when nothing has happened for a while: then the
// controller may have been restarted, which gives it other loops.
func (s *service) stream(ctx context.Context, w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/json")
	steps := newSteps()
	var traced []loop.Loop
	stop := func() {}
	defer func() { stop() }()
	idle := clock.Real().NewTicker(idleInterval)
	defer idle.Stop()
	pause := clock.Real().NewTimer(lineInterval)
	defer pause.Stop()
	for {
		loops, _ := s.cluster.ControllerLoops(name)
		if !slices.Equal(loops, traced) {
			stop()
			traced, stop = loops, trace(loops, steps.add)
		}
		line := s.shown(name, loops)
		line.Steps, line.Forgotten = steps.take()
		if openrequests.WriteLine(w, line) != nil {
			return // the client is gone
		}
		pause.Reset(lineInterval)
		select {
		case <-pause.C():
		case <-ctx.Done():
			return
		}
		select {
		case <-steps.some:
		case <-idle.C():
		case <-ctx.Done():
			return
		}
	}
}

// trace calls add with the steps of all loops until stop is called.
func trace(loops []loop.Loop, add func(loop.Step)) (stop func()) {
	stops := make([]func(), 0, len(loops))
	for _, l := range loops {
		stops = append(stops, l.Trace(add))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Close implements minikcm.ExtensionHandler.
func (s *service) Close() error {
	s.requests.Close()
	return nil
}
