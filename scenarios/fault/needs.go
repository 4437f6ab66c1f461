package fault

import (
	"errors"
	"fmt"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// Needs are the hooks that a cluster must have been started with.
type Needs struct{ Store, API bool }

// Prepare sets the options that a cluster needs for the faults to be injected into it.
func Prepare(options *minikcm.Options, faults ...*Fault) {
	for _, f := range faults {
		if len(f.parts()) != 1 {
			continue
		}
		needs := f.kind().needs()
		options.Faults.Store = options.Faults.Store || needs.Store
		options.Faults.API = options.Faults.API || needs.API
	}
}

// errOutside refuses faults that only a cluster of minikcm can suffer.
var errOutside = errors.New("cannot be done to an existing cluster: it can be reached only by its API, so that pods can be killed and evicted, and nodes cordoned, drained, tainted and deleted; run the scenario on a cluster of its own for the rest")

// errNotVirtual refuses to set the clock of a cluster that is not virtual.
var errNotVirtual = errors.New("only a virtual clock can be set, as the clusters of scenarios and tests have it; let the clocks of nodes or controllers be off instead, by skew")

func isVirtual(c clock.Clock) bool {
	_, virtual := c.(*clock.Virtual)
	return virtual
}

// Possible returns an error if the fault cannot be injected into env's cluster.
func (f *Fault) Possible(env *Env) error {
	k := f.kind()
	row, _ := k.action()
	switch {
	case env.Cluster == nil && !row.ByAPI:
		return fmt.Errorf("%s %w", k.title(), errOutside)
	case env.Cluster == nil:
		return nil
	}
	needs := k.needs()
	if needs.Store && env.Cluster.StoreFaults() == nil {
		return fmt.Errorf("%s: the cluster was not started with Options.Faults.Store", k.title())
	}
	if jump, virtual := f.Clock != nil && f.Clock.Action == ClockJump, isVirtual(env.Cluster.Clock()); jump && !virtual {
		return fmt.Errorf("%s: %w", k.title(), errNotVirtual)
	}
	if needs.API && env.Cluster.APIFaults() == nil {
		return fmt.Errorf("%s: the cluster was not started with Options.Faults.API", k.title())
	}
	return nil
}
