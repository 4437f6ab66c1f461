package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/request"
)

// call is a request while a verb of the server serves it.
type call struct {
	request.Request
	server *Server
}

// verbFunc serves one verb. The error that it returns is sent as a Status.
type verbFunc func(ctx context.Context, rq *call) error
