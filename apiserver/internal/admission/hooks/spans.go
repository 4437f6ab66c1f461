package hooks

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// traced returns a context in which each call of a webhook is recorded in s. Upstream's plugins begin a
// span for a call, whose attributes name the webhook and its configuration. Neither their errors nor
// their requests do.
func traced(ctx context.Context, s *calls) context.Context {
	return trace.ContextWithSpan(ctx, root{provider: provider{calls: s}})
}

// root is the span in whose context the plugins run.
type root struct {
	noop.Span
	provider provider
}

// TracerProvider implements trace.Span.
func (r root) TracerProvider() trace.TracerProvider { return r.provider }

type provider struct {
	noop.TracerProvider
	calls *calls
}

// Tracer implements trace.TracerProvider.
func (p provider) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{calls: p.calls} }

type tracer struct {
	noop.Tracer
	calls *calls
}

// Start implements trace.Tracer. Spans other than calls of webhooks are not recorded.
func (t tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	kind, ok := kindOfSpan[name]
	if !ok {
		return ctx, noop.Span{}
	}
	named := map[string]string{}
	config := trace.NewSpanStartConfig(options...)
	for _, attribute := range config.Attributes() {
		named[string(attribute.Key)] = attribute.Value.AsString()
	}
	c := t.calls.begin(named["configuration"], named["webhook"], kind, named["operation"])
	ctx = context.WithValue(ctx, callKey{}, c)
	return ctx, span{ended: func() { c.end(ctx) }}
}

// span is the span of one call.
type span struct {
	noop.Span
	ended func()
}

// End implements trace.Span.
func (s span) End(...trace.SpanEndOption) { s.ended() }
