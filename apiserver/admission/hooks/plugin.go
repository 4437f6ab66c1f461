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

// Options configure New. All fields are required.
type Options struct {
	// Idle reports that neither webhooks nor policies exist.
	Idle func(ctx context.Context) (bool, error)
	// Config returns the configuration of clients of the server itself.
	Config func() *rest.Config
	Ledger *clock.Ledger
	// Kinds are the served kinds, in the form that upstream's libraries require.
	Kinds upstream.ObjectInterfaces
	// Authorizer evaluates authorization checks in conditions.
	Authorizer authorizer.UnconditionalAuthorizer
	// Services resolves the Service of a webhook.
	Services webhookutil.ServiceResolver
}

// Plugin is a Mutator and a Checker. It must come after the built-in plugins.
type Plugin struct {
	opts Options

	mu      sync.Mutex
	started *started
	closed  bool
}

// New returns a plugin. The caller must close it.
func New(opts Options) *Plugin { return &Plugin{opts: opts} }

var errClosed = errors.New("the apiserver is shutting down")

// Close ends the started plugins and waits for them.
func (p *Plugin) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.started != nil {
		p.started.stop()
	}
}

// plugins returns upstream's plugins, or nil if there is nothing for them to do.
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
	for _, mutator := range plugins.mutators {
		if err := mutator.Admit(ctx, record, p.opts.Kinds); err != nil {
			return err
		}
	}
	return nil
}

// Check implements admission.Checker.
func (p *Plugin) Check(ctx context.Context, a *admission.Attributes) error {
	plugins, err := p.plugins(ctx)
	if plugins == nil || err != nil {
		return err
	}
	ctx, record := warned(ctx, a), a.Record()
	if a.Operation == admission.Delete {
		// Mutating webhooks are also called for a delete, although nothing is stored.
		for _, mutator := range plugins.mutators {
			if err := mutator.Admit(ctx, record, p.opts.Kinds); err != nil {
				return err
			}
		}
	}
	for _, validator := range plugins.validators {
		if err := validator.Validate(ctx, record, p.opts.Kinds); err != nil {
			return err
		}
	}
	return nil
}

// warned returns a context that passes the warnings of webhooks and policies on to the
// client.
func warned(ctx context.Context, a *admission.Attributes) context.Context {
	if a.Warn == nil {
		return ctx
	}
	return warning.WithWarningRecorder(ctx, recorder(a.Warn))
}

type recorder func(text string)

func (r recorder) AddWarning(_, text string) { r(text) }
