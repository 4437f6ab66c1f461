package store

import (
	"context"
	"fmt"
	"slices"
)

// Guard is a condition on the writes of a process that may have been replaced: the key, which
// names the process in charge, is still at the revision at which the process put itself there.
// Revision 0 means that the key does not exist.
type Guard struct {
	Key      string
	Revision int64
}

type guardKey struct{}

// WithGuard returns a context whose Put and Delete fail with a *GuardError, and write nothing,
// unless the guard's key has the guard's revision. The check and the write are one transaction:
//
//	T1 process A acquires the key at revision 10, sends a write with the guard 10, and is paused
//	T2 process B takes the key over at revision 11
//	T3 A's write arrives: the store compares 10 with 11 and refuses it
//
// A check before the write would leave a gap between T2 and T3. The guards that ctx has
// already must hold as well.
func WithGuard(ctx context.Context, guard Guard) context.Context {
	return context.WithValue(ctx, guardKey{}, append(slices.Clip(GuardsOf(ctx)), guard))
}

// GuardsOf returns the guards of the context, which the caller must not modify.
func GuardsOf(ctx context.Context) []Guard {
	guards, _ := ctx.Value(guardKey{}).([]Guard)
	return guards
}

// GuardError is returned by a write whose guard does not hold. The write was not made.
type GuardError struct {
	Guard Guard
	// Current is the revision of the guard's key; 0 if it does not exist.
	Current int64
}

func (e *GuardError) Error() string {
	if e.Current == 0 {
		return fmt.Sprintf("the guard %q was at revision %d and does not exist any more", e.Guard.Key, e.Guard.Revision)
	}
	return fmt.Sprintf("the guard %q was at revision %d and is at revision %d", e.Guard.Key, e.Guard.Revision, e.Current)
}
