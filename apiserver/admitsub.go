package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/clock/inflight"
)

// speaksAnother reports whether what is read and written beneath an object is of
// another kind than the object (a scale): admission sees that, as upstream's does.
func (rq *request) speaksAnother() bool {
	return rq.sub != nil && rq.sub.Writes() && rq.sub.Get != nil && rq.sub.GroupVersionKind != rq.row.GroupVersionKind
}

// spokenAttributes are the two states of a parent as the subresource shows them.
func (rq *request) spokenAttributes(parent, old runtime.Object, dryRun bool) (*admission.Attributes, error) {
	now, err := rq.sub.Get(parent)
	if err != nil {
		return nil, err
	}
	before, err := rq.sub.Get(old)
	if err != nil {
		return nil, err
	}
	attributes := rq.attributes(admission.Update, now, before, dryRun)
	attributes.Kind = rq.kind()
	return attributes, nil
}

// admitConnect lets webhooks and policies see the options of a connection, before
// anything is known of what it leads to. They may change them.
func (rq *request) admitConnect(ctx context.Context, kind string, opts runtime.Object) error {
	if len(rq.query["dryRun"]) > 0 {
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	attributes := rq.attributes(admission.Connect, opts, nil, false)
	attributes.Kind = corev1.SchemeGroupVersion.WithKind(kind)
	opts.GetObjectKind().SetGroupVersionKind(attributes.Kind)
	defer inflight.Begin(rq.server.opts.Ledger, inflight.Request).End()
	if err := rq.server.hooks.Mutate(ctx, attributes); err != nil {
		return err
	}
	return rq.server.hooks.Check(ctx, attributes)
}
