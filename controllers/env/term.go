package env

import (
	"context"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock/informers"
)

// Term returns a copy of the environment for a part that runs for a time, with its own
// informers: they end with ctx, and the caller calls end when the part has returned. The copy's
// requests use config. It shares the recorder, which Begin of the environment started.
func (e *Env) Term(ctx context.Context, config *rest.Config) (term *Env, end func(), err error) {
	factory, err := informers.NewForConfig(config, e.Ledger, informers.WithoutManagedFields())
	if err != nil {
		return nil, nil, err
	}
	other := *e
	other.Config, other.Informers, other.informersEnd = config, factory, ctx.Done()
	return &other, factory.Shutdown, nil
}
