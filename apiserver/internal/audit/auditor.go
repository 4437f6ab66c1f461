package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	upstream "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/apiserver/plugin/pkg/audit/truncate"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
)

// Auditor records requests. It is safe for concurrent use.
type Auditor struct {
	policy  upstream.PolicyRuleEvaluator
	backend upstream.Backend
	clock   clock.Clock
	logger  klog.Logger
	// stop ends the backend's goroutines, abandon the deliveries that are under way.
	stop      chan struct{}
	abandon   context.CancelFunc
	log       io.Closer
	closeOnce sync.Once
	closeErr  error
}

// New returns an Auditor, whose events have the times of the clock, or nil if the options
// audit nothing. The caller must close it.
func New(opts Options, c clock.Clock, logger klog.Logger) (*Auditor, error) {
	if !opts.Enabled() {
		return nil, nil
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	read, err := opts.readPolicy()
	if err != nil {
		return nil, err
	}
	if read == nil {
		logger.Info("No events are recorded, because there is no --audit-policy-file")
		return nil, nil
	}
	ctx, abandon := context.WithCancel(context.Background())
	a := &Auditor{
		policy: policy.NewPolicyRuleEvaluator(read), clock: c, logger: logger,
		stop: make(chan struct{}), abandon: abandon, log: io.NopCloser(nil),
	}
	backends, err := a.backends(ctx, &opts)
	if err != nil {
		abandon()
		_ = a.log.Close() // nothing was written
		return nil, err
	}
	a.backend = upstream.Union(backends...)
	if err := a.backend.Run(a.stop); err != nil {
		abandon()
		_ = a.log.Close()
		return nil, fmt.Errorf("starting the audit backends: %w", err)
	}
	return a, nil
}

// backends returns the backends that the options name. Deliveries of the webhook end with
// ctx.
func (a *Auditor) backends(ctx context.Context, opts *Options) ([]upstream.Backend, error) {
	var all []upstream.Backend
	if opts.Log.Path != "" {
		var out io.Writer = os.Stdout
		if opts.Log.Path != "-" {
			file, err := openLog(&opts.Log)
			if err != nil {
				return nil, err
			}
			a.log, out = file, file
		}
		all = append(all, deliver(auditlog.NewBackend(out, opts.Log.Format, auditv1.SchemeGroupVersion), opts.Log.Delivery))
	}
	if opts.Webhook.ConfigFile != "" {
		hook, err := newWebhook(ctx, &opts.Webhook)
		if err != nil {
			return nil, err
		}
		all = append(all, deliver(hook, opts.Webhook.Delivery))
	}
	if opts.Events != nil {
		all = append(all, function{call: opts.Events})
	}
	return all, nil
}

// deliver returns a backend that delivers as configured.
func deliver(backend upstream.Backend, d Delivery) upstream.Backend {
	switch d.Mode {
	case ModeBatch:
		backend = buffered.NewBackend(backend, d.Batch)
	case ModeBlocking:
		backend = lenient{backend}
	}
	if d.Truncates {
		backend = truncate.NewBackend(backend, d.Truncate, auditv1.SchemeGroupVersion)
	}
	return backend
}

// flushTime limits, in real time, how long Close waits for a webhook that does not respond.
const flushTime = 5 * time.Second

// Close delivers the buffered events and closes the backends. No request may be recorded any
// more. Events that a webhook has not taken within five seconds of real time are lost.
func (a *Auditor) Close() error {
	if a == nil {
		return nil
	}
	a.closeOnce.Do(func() {
		close(a.stop)
		limit := clock.Real().AfterFunc(flushTime, a.abandon)
		a.backend.Shutdown()
		limit.Stop()
		a.abandon()
		if err := a.log.Close(); err != nil {
			a.closeErr = fmt.Errorf("closing the audit log: %w", err)
		}
	})
	return a.closeErr
}

// ProcessEvents implements upstream's Sink: it sets the time of the stage, which upstream
// takes from the machine's clock, to the cluster's time.
func (a *Auditor) ProcessEvents(events ...*auditinternal.Event) bool {
	done := true
	for _, event := range events {
		stamped := *event
		if stamped.Stage != auditinternal.StageRequestReceived {
			stamped.StageTimestamp.Time = a.clock.Now()
		}
		done = a.backend.ProcessEvents(&stamped) && done
	}
	return done
}

// lenient is a backend whose failures do not fail requests.
type lenient struct{ upstream.Backend }

func (l lenient) ProcessEvents(events ...*auditinternal.Event) bool {
	l.Backend.ProcessEvents(events...)
	return true
}

// function is a backend that calls a function with each event.
type function struct{ call func(*auditv1.Event) }

// ProcessEvents implements upstream's Sink.
func (f function) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		out := &auditv1.Event{}
		if err := auditv1.Convert_audit_Event_To_v1_Event(event.DeepCopy(), out, nil); err != nil {
			return false
		}
		f.call(out)
	}
	return true
}

func (f function) Run(<-chan struct{}) error { return nil }
func (f function) Shutdown()                 {}
func (f function) String() string            { return "function" }
