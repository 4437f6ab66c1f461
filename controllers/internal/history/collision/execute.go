package collision

import (
	"context"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Execute executes the actions of an owner with revisions and then writes the status that
// conclude returns, unless it is nil. It writes the status even if an action failed, because
// every action but the creation of a revision can be repeated. If that one failed because
// another revision has its name, collided is true: conclude raises the collision count.
func Execute[T interface {
	plan.Object
	comparable
}](ctx context.Context, x *executor.Executor, owner T, actions []plan.Action, result loop.Result, conclude func(collided bool) T) (loop.Result, error) {
	actErr := x.Act(ctx, owner, actions)
	collided := false
	if wanted := taken(actErr); wanted != nil {
		var err error
		if collided, err = holdsOther(ctx, x.Writer, owner, wanted); err != nil || !collided {
			return result, err
		}
		actErr = nil
	}
	var none T
	var statusErr error
	if update := conclude(collided); update != none {
		statusErr = x.WriteStatus(ctx, update)
	}
	return executor.Settle(result, actErr, statusErr)
}
