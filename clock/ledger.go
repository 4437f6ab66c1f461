package clock

import (
	"context"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// Ledger and Kind are the types of package inflight.
type (
	Ledger = inflight.Ledger
	Kind   = inflight.Kind
)

// The kinds of work that the ledger counts.
const (
	Request  = inflight.Request
	Event    = inflight.Event
	Key      = inflight.Key
	Action   = inflight.Action
	Callback = inflight.Callback
	Tick     = inflight.Tick
	Start    = inflight.Start
)

// NewLedger returns a ledger with nothing in flight.
func NewLedger() *Ledger { return inflight.NewLedger() }

// Sleep is inflight.Sleep for operators: it lets d pass on c, in which the reconcile
// whose context ctx is does not hold time.
func Sleep(ctx context.Context, c Clock, d time.Duration) error { return inflight.Sleep(ctx, c, d) }

// Begin counts a piece of work in the ledger of a cluster (minikcm.Cluster.Ledger) until end is
// called: virtual time stands still meanwhile. Only the first call of end has an effect. The caller
// must be in flight itself, unless it does not matter at which time the work begins. Code that hands
// work on begins the next piece before it ends its own.
func Begin(l *Ledger) (end func()) { return inflight.Begin(l, inflight.Action).End }
