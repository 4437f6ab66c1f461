package scenarios

import (
	"context"
	"errors"
	"time"

	"minikcm.dev/minikcm/scenarios/evolution"
	"minikcm.dev/minikcm/scenarios/format"
)

var errNoReconcilers = errors.New("the reconcilers work on a cluster of the scenario's own only")

func (b *branch) reconcile(ctx context.Context, r *format.Reconcile) error {
	if b.run.cluster == nil {
		return errNoReconcilers
	}
	config := b.run.cluster.ConfigFor("evolution:"+r.By, "system:masters")
	return evolution.Run(ctx, r.By, time.Duration(r.For), evolution.Env{Config: config, Ledger: b.run.ledger, Sleep: b.sleep})
}
