package env

import (
	"context"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"minikcm.dev/minikcm/clock/informers"
)

// Term returns a copy of the environment for a part that runs for a time, with its own
// informers: they end with ctx, and the caller calls end when the part has returned. The part's
// requests use config, or Account, with the transport that wrap returns; the informers' requests
// use the environment's own Config. The copy shares the recorder, which Begin of the environment
// started.
func (e *Env) Term(ctx context.Context, config *rest.Config, wrap transport.WrapperFunc) (term *Env, end func(), err error) {
	kinds, err := informers.KindsFor(e.Config, e.Ledger, informers.WithoutManagedFields(), informers.ByReference(), informers.Staged())
	if err != nil {
		return nil, nil, err
	}
	other := *e
	other.Config = rest.CopyConfig(config)
	other.Config.Wrap(wrap)
	other.Informers, other.informersEnd = kinds, ctx.Done()
	if e.Account != nil {
		other.Account = func(name string) (*rest.Config, error) {
			own, err := e.Account(name)
			if err == nil {
				own.Wrap(wrap)
			}
			return own, err
		}
	}
	return &other, kinds.Shutdown, nil
}
