package apiserver

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/response"
)

// answerFunc answers a create of a kind that is not stored, such as a review. It may
// change asked. It calls admit once it has found asked valid.
type answerFunc func(ctx context.Context, rq *request, asked runtime.Object, admit func() error) (runtime.Object, error)

// newAnswers returns the table of those kinds.
func (s *Server) newAnswers() map[schema.GroupVersionKind]answerFunc {
	authentication, authorization := authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion
	return map[schema.GroupVersionKind]answerFunc{
		authentication.WithKind("TokenRequest"):            answers(requestToken),
		authentication.WithKind("TokenReview"):             answers(reviewToken),
		authentication.WithKind("SelfSubjectReview"):       answers(reviewSelf),
		authorization.WithKind("SubjectAccessReview"):      answers(reviewAccess),
		authorization.WithKind("LocalSubjectAccessReview"): answers(reviewLocalAccess),
		authorization.WithKind("SelfSubjectAccessReview"):  answers(reviewSelfAccess),
		authorization.WithKind("SelfSubjectRulesReview"):   answers(reviewSelfRules),
	}
}

// answers adapts a function with a typed argument to answerFunc.
func answers[T runtime.Object](answer func(ctx context.Context, rq *request, asked T, admit func() error) (T, error)) answerFunc {
	return func(ctx context.Context, rq *request, asked runtime.Object, admit func() error) (runtime.Object, error) {
		typed, ok := asked.(T)
		if !ok {
			return nil, response.NotFound()
		}
		return answer(ctx, rq, typed, admit)
	}
}

// serveAnswer serves POST for a kind that is not stored.
func serveAnswer(ctx context.Context, rq *request) error {
	opts, err := rq.createOptions()
	if err != nil {
		return err
	}
	data, err := rq.body()
	if err != nil {
		return err
	}
	newObject := rq.row.New
	if rq.sub != nil {
		newObject = rq.sub.New
	}
	asked, err := rq.decode(data, rq.kind(), newObject(), opts.FieldValidation)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(asked)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if err := rq.checkNamespace(asked); err != nil {
		return err
	}
	if rq.sub == nil { // a subresource keeps the UID of its parent
		m.SetUID("")
	}
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	answer, found := rq.server.answers[rq.kind()]
	if !found {
		return response.NotFound()
	}
	attributes := rq.attributes(admission.Create, asked, nil, isDryRun(opts.DryRun))
	if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	answered, err := answer(ctx, rq, asked, func() error { return rq.server.admission.Check(ctx, attributes) })
	if err != nil {
		return err
	}
	return rq.writeResult(http.StatusCreated, answered)
}
