package scenarios

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

// Place is the sort of cluster that a scenario runs on, which decides what is possible.
type Place int

// The places.
const (
	// OwnCluster is started for the run, in the same process.
	OwnCluster Place = iota
	// RunningCluster is one that "minikcm up" or "minikcm exec" runs: faults are injected
	// through its API.
	RunningCluster
	// ForeignCluster is any other: only steps and faults that use nothing but the Kubernetes API
	// are possible.
	ForeignCluster
)

// FindPlace finds out what sort of cluster config reaches, by a request. A nil config stands
// for a cluster of the scenario's own.
func FindPlace(ctx context.Context, config *rest.Config) (Place, error) {
	e, err := reach(ctx, config)
	return e.place, err
}

// reach finds out where a run with these options runs.
func (o *Options) reach(ctx context.Context) (reached, error) {
	switch {
	case o.Driver != nil:
		return reached{place: OwnCluster}, nil
	case o.Cluster != nil:
		return reached{place: RunningCluster}, nil
	}
	return reach(ctx, o.Config)
}

// reached describes the cluster that a run uses. info is set for an existing minikcm cluster, and
// faults if it serves them.
type reached struct {
	place  Place
	info   *minikcm.Info
	faults *faultapi.Client
}

func reach(ctx context.Context, config *rest.Config) (reached, error) {
	if config == nil {
		return reached{}, nil
	}
	e := reached{place: ForeignCluster}
	client, err := faultapi.NewClient(config)
	if err != nil {
		return e, err
	}
	info, err := client.Info(ctx)
	var foreign *faultapi.ForeignError
	switch {
	case errors.As(err, &foreign):
		return e, nil
	case err != nil:
		return e, err
	}
	e.info = info
	if info.Has(faultapi.Feature) {
		e.place, e.faults = RunningCluster, client
	}
	return e, nil
}

// clock returns the clock of a run on the cluster: the machine's, or one that runs as fast as
// the cluster's did when the run began, if that is scaled or virtual. text is its name in the
// run record, as clock.ParseMode reads it: the run's own clock is a scaled one in both cases.
func (e *reached) clock() (c clock.Clock, text string) {
	if e.info == nil || e.info.Clock.Mode == clock.ModeReal || !(e.info.Clock.Factor > 0) {
		return clock.Real(), string(clock.ModeReal)
	}
	return clock.ScaledFrom(e.info.Clock.Now, e.info.Clock.Factor), fmt.Sprintf("%s=%v", clock.ModeScaled, e.info.Clock.Factor)
}

// config returns the configuration of the scenario's own requests. On a running cluster the
// user is User, which its faults of the API server pass over.
func (e *reached) config(config *rest.Config) *rest.Config {
	if e.place == RunningCluster && config.Impersonate.UserName == "" {
		config = rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: User, Groups: []string{"system:masters"}}
	}
	return config
}
