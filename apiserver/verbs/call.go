package verbs

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/storage"
)

// Call is a request while a verb serves it.
type Call struct {
	request.Request
	backend *Backend
	// atEnd are called when the verb has returned.
	atEnd []func()
	// premises are what the request's writes depend on; nil unless other processes use the store.
	premises *storage.Premises
}

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
	obj, err := rq.readObject(opts.FieldValidation)
	return opts, obj, err
}

// verbFunc serves one verb. The error that it returns is sent as a Status.
type verbFunc func(ctx context.Context, rq *Call) error
