package verbs

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/reasons"
)

// Call is a request while a verb serves it.
type Call struct {
	request.Request
	backend *Backend
	// atEnd are called when the verb has returned.
	atEnd []func()
	// premises are the conditions of the request's writes; nil unless other processes use the store.
	premises *storage.Premises
	refusal  Refusal
	// options are the request's options for admission reviews.
	options admission.Options
}

// Refusal is a refusal by admission, or by a PodDisruptionBudget.
type Refusal struct {
	By  reasons.Refuser
	Err error
	// Object is the object that was to be written; nil for a delete.
	Object runtime.Object
}

// Refused returns the refusal of the request with err; ok is false if neither admission nor a
// budget did.
func (rq *Call) Refused(err error) (refusal Refusal, ok bool) {
	return rq.refusal, rq.refusal.Err != nil && errors.Is(err, rq.refusal.Err)
}

// RefuseBy says that a budget refuses the request with err.
func (rq *Call) RefuseBy(by reasons.Refuser, err error) { rq.refusal = Refusal{By: by, Err: err} }

// end calls the functions in atEnd.
func (rq *Call) end() {
	for _, ended := range rq.atEnd {
		ended()
	}
}

// readObject reads the body, which is an object of the request's kind.
func (rq *Call) readObject(fieldValidation string) (runtime.Object, error) {
	data, err := rq.Body()
	if err != nil {
		return nil, err
	}
	return rq.Decode(data, rq.Kind(), rq.NewBody(), fieldValidation)
}

// readCreate reads the options and the body of a POST.
func (rq *Call) readCreate() (*metav1.CreateOptions, runtime.Object, error) {
	opts, err := rq.CreateOptions()
	if err != nil {
		return nil, nil, err
	}
	rq.options = admission.Options{FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	obj, err := rq.readObject(opts.FieldValidation)
	return opts, obj, err
}

// verbFunc serves one verb. The error that it returns is sent as a Status.
type verbFunc func(ctx context.Context, rq *Call) error
