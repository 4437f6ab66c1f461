package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/clock"
)

// Options are what the plugin works with. All are needed.
type Options struct {
	// Idle says that there are neither webhooks nor policies.
	Idle func(ctx context.Context) (bool, error)
	// Config reaches the server itself.
	Config func() *rest.Config
	Ledger *clock.Ledger
	// Kinds are what is served, as upstream's libraries ask for it.
	Kinds upstream.ObjectInterfaces
	// Authorizer answers a condition's questions about the user.
	Authorizer authorizer.UnconditionalAuthorizer
	// Services finds where a webhook's service is.
	Services webhookutil.ServiceResolver
}

// Plugin is a Mutator and a Checker. It has to come after the built-in ones.
type Plugin struct {
	opts Options

	mu      sync.Mutex
	started *started
	closed  bool
}

// New returns a plugin that is closed by Close.
func New(opts Options) *Plugin { return &Plugin{opts: opts} }

var errClosed = errors.New("the apiserver is shutting down")

// Close ends what was started and waits for it.
func (p *Plugin) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.started != nil {
		p.started.stop()
	}
}

// plugins returns upstream's plugins, nil if there is nothing for them to do.
func (p *Plugin) plugins(ctx context.Context) (*started, error) {
	idle, err := p.opts.Idle(ctx)
	if idle || err != nil {
		return nil, err
	}
	started, err := p.start()
	if err != nil {
		return nil, err
	}
	return started, started.wait(ctx)
}

func (p *Plugin) start() (*started, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, apierrors.NewServiceUnavailable(errClosed.Error())
	}
	if p.started == nil {
		var err error
		if p.started, err = start(p.opts); err != nil {
			return nil, fmt.Errorf("starting the admission webhooks and policies: %w", err)
		}
	}
	return p.started, nil
}

// Mutate implements admission.Mutator.
func (p *Plugin) Mutate(ctx context.Context, a *admission.Attributes) error {
	plugins, err := p.plugins(ctx)
	if plugins == nil || err != nil {
		return err
	}
	ctx, record := warned(ctx, a), a.Record()
	if err := plugins.mutatingPolicies.Admit(ctx, record, p.opts.Kinds); err != nil {
		return err
	}
	return plugins.mutatingWebhooks.Admit(ctx, record, p.opts.Kinds)
}

// Check implements admission.Checker.
func (p *Plugin) Check(ctx context.Context, a *admission.Attributes) error {
	plugins, err := p.plugins(ctx)
	if plugins == nil || err != nil {
		return err
	}
	ctx, record := warned(ctx, a), a.Record()
	if a.Operation == admission.Delete {
		// Nothing is stored on a deletion, but they are told of it.
		if err := plugins.mutatingWebhooks.Admit(ctx, record, p.opts.Kinds); err != nil {
			return err
		}
	}
	if err := plugins.validatingPolicies.Validate(ctx, record, p.opts.Kinds); err != nil {
		return err
	}
	return plugins.validatingWebhooks.Validate(ctx, record, p.opts.Kinds)
}

// warned passes on the warnings of webhooks and policies.
func warned(ctx context.Context, a *admission.Attributes) context.Context {
	if a.Warn == nil {
		return ctx
	}
	return warning.WithWarningRecorder(ctx, recorder(a.Warn))
}

type recorder func(text string)

func (r recorder) AddWarning(_, text string) { r(text) }
