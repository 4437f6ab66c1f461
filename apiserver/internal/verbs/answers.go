package verbs

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/request"
)

// ServeAnswer serves POST for a kind that is not stored.
func (rq *Call) ServeAnswer(ctx context.Context, answer func(ctx context.Context, asked runtime.Object, admit func() error) (runtime.Object, error)) error {
	opts, asked, err := rq.readCreate()
	if err != nil {
		return err
	}
	m, err := meta.Accessor(asked)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if err := rq.CheckNamespace(asked); err != nil {
		return err
	}
	if rq.Sub == nil { // a subresource keeps the UID of its parent
		m.SetUID("")
	}
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	if rq.Sub != nil && rq.Sub.Default != nil {
		rq.Sub.Default(asked)
	}
	attributes := rq.Attributes(admission.Create, asked, nil, request.IsDryRun(opts.DryRun))
	if err := rq.backend.Admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	answered, err := answer(ctx, asked, func() error { return rq.backend.Admission.Check(ctx, attributes) })
	if err != nil {
		return err
	}
	return rq.WriteResult(http.StatusCreated, answered)
}
