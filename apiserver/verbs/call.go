package verbs

import (
	"context"

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

// verbFunc serves one verb. The error that it returns is sent as a Status.
type verbFunc func(ctx context.Context, rq *Call) error
