package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/admission/manifests"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Options configure New. All fields are required.
type Options struct {
	// Objects returns the objects of a resource of admissionregistration.k8s.io.
	Objects func(resource string) Objects
	// Namespaces are the namespaces, and Params the objects of any kind that policies refer
	// to.
	Namespaces Objects
	Params     Params
	// Types returns the schemas of a kind; nil: the kind is not known.
	Types func(kind schema.GroupVersionKind) managedfields.TypeConverter
	// Config returns the configuration of clients of the server itself.
	Config func() *rest.Config
	// Kinds are the served kinds, in the form that upstream's libraries require.
	Kinds Kinds
	// Authorizer evaluates authorization checks in conditions.
	Authorizer authorizer.UnconditionalAuthorizer
	// Services resolves the Service of a webhook, and Skip decides which are skipped.
	Services webhookutil.ServiceResolver
	Skip     outbound.Skip
	// Inside makes the calls of Services in simulated pods.
	Inside outbound.Inside
	// Observer records the calls and results of webhooks and policies.
	Observer Observer
	// Faults returns the effect of the injected faults on a call of a configuration's webhook.
	Faults func(ctx context.Context, configuration, webhook string) Fate
	// BuiltIn has the kinds of manifests, before the server serves any.
	BuiltIn *resources.Table
	// Logger gets the errors in manifests that change.
	Logger klog.Logger
}

// Plugin runs upstream's four plugins, each of which is a plugin of the admission chain.
type Plugin struct {
	opts Options
	// folders are the folders with manifests, by the resource of the hook.
	folders map[string]*manifests.Folder

	mu      sync.Mutex
	started *started
	closed  bool
}

// New returns a plugin. The caller must close it.
func New(opts Options) *Plugin { return &Plugin{opts: opts, folders: map[string]*manifests.Folder{}} }

var errClosed = errors.New("the apiserver is shutting down")

// Close ends the started plugins and waits for them.
func (p *Plugin) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.started != nil {
		p.started.stop()
	}
	for _, folder := range p.folders {
		folder.Close()
	}
}

func (p *Plugin) start() (*started, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, apierrors.NewServiceUnavailable(errClosed.Error())
	}
	if p.started == nil {
		var err error
		if p.started, err = p.newStarted(); err != nil {
			return nil, fmt.Errorf("starting the admission webhooks and policies: %w", err)
		}
	}
	return p.started, nil
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
