package audit

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	upstream "k8s.io/apiserver/pkg/audit"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhook is a backend that posts EventLists. It differs from upstream's, which a server
// cannot stop, in that its calls end with ctx.
type webhook struct {
	post func(list *auditinternal.EventList) error
}

func newWebhook(ctx context.Context, opts *WebhookOptions) (*webhook, error) {
	config, err := webhookutil.LoadKubeconfig(opts.ConfigFile, nil)
	if err == nil {
		var client *webhookutil.GenericWebhook
		client, err = webhookutil.NewGenericWebhook(upstream.Scheme, upstream.Codecs, config,
			[]schema.GroupVersion{auditv1.SchemeGroupVersion}, webhookutil.DefaultRetryBackoffWithInitialDelay(opts.InitialBackoff))
		if err == nil {
			// Any error may end, so that every failure is a reason to try again.
			client.ShouldRetry = func(err error) bool { return err != nil && ctx.Err() == nil }
			return &webhook{post: func(list *auditinternal.EventList) error {
				return client.WithExponentialBackoff(ctx, func() rest.Result { return client.RestClient.Post().Body(list).Do(ctx) }).Error()
			}}, nil
		}
	}
	return nil, fmt.Errorf("--audit-webhook-config-file %s: %w", opts.ConfigFile, err)
}

// ProcessEvents implements upstream's Sink.
func (w *webhook) ProcessEvents(events ...*auditinternal.Event) bool {
	var list auditinternal.EventList
	for _, event := range events {
		list.Items = append(list.Items, *event)
	}
	if err := w.post(&list); err != nil {
		upstream.HandlePluginError(w.String(), err, events...)
		return false
	}
	return true
}

// Run implements upstream's Backend.
func (w *webhook) Run(<-chan struct{}) error { return nil }

// Shutdown implements upstream's Backend.
func (w *webhook) Shutdown() {}

func (w *webhook) String() string { return "webhook" }
