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
