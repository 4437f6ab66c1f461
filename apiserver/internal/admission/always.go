package admission

import (
	"context"
	"errors"
)

var errAlwaysDenied = errors.New("admission control is denying all modifications")

// AlwaysDeny rejects every write. The server creates its own objects without admission.
type AlwaysDeny struct{}

// Mutate implements Mutator.
func (AlwaysDeny) Mutate(_ context.Context, a *Attributes) error { return denied(a, errAlwaysDenied) }

// Check implements Checker.
func (AlwaysDeny) Check(_ context.Context, a *Attributes) error { return denied(a, errAlwaysDenied) }
