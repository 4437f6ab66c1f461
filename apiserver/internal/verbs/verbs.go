package verbs

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/inflight"
)

// allVerbs are the verbs of a row without Verbs.
var allVerbs = []string{request.VerbCreate, request.VerbDelete, request.VerbDeleteCollection, request.VerbGet, request.VerbList, request.VerbPatch, request.VerbUpdate, request.VerbWatch}

// Serve negotiates the response format, finds the verb's function, and calls it. It limits the
// duration on the cluster's clock, and on the machine's, too.
func (rq *Call) Serve() error {
	if rq.Subresource != "" && rq.Sub == nil {
		return response.NotFound()
	}
	if err := rq.checkScope(); err != nil {
		return err
	}
	verb, err := rq.findVerb()
	if err != nil {
		return err
	}
	if err := rq.Negotiate(); err != nil {
		return err
	}
	if rq.Row.Warning != "" {
		rq.Audit.Annotate(rq.HTTP.Context(), "k8s.io/deprecated", "true")
	}
	if rq.Row.Warning != "" && !rq.IsComponent() { // components have no alternative, and would log the warning
		response.Warn(rq.Writer, rq.Row.Warning)
	}
	defer rq.end()
	if rq.LongRunning() {
		return verb(rq.HTTP.Context(), rq)
	}
	limit, err := rq.Timeout()
	if err != nil {
		return err
	}
	if !rq.Row.Live {
		rq.Work = inflight.Begin(rq.backend.Ledger, inflight.Request)
		defer rq.Work.End()
	}
	ctx, cancel := context.WithTimeout(rq.HTTP.Context(), limit)
	defer cancel()
	if rq.backend.Virtual && !rq.Row.Live { // virtual time passes while it serves a live kind
		var stop context.CancelFunc
		ctx, stop = inflight.WithLimitCause(ctx, rq.backend.Clock, limit, context.DeadlineExceeded)
		defer stop()
	}
	if method := rq.HTTP.Method; method != http.MethodGet && method != http.MethodHead {
		rq.premises = &storage.Premises{}
		ctx = storage.WithPremises(ctx, rq.premises)
	}
	return verb(rq.backend.Pause(ctx, rq.Work), rq)
}

// findVerb returns the function that serves the request, or the error to respond with.
func (rq *Call) findVerb() (verbFunc, error) {
	if rq.Name != "" && rq.Sub == nil && rq.Row.Verbs != nil && !slices.ContainsFunc(rq.Row.Verbs, isOnNames) {
		return nil, response.NotFound() // upstream has no route for the names of such a kind
	}
	if rq.HTTP.Method == http.MethodHead && !rq.Row.Custom && (rq.Sub == nil || !rq.Sub.AnyMethod) {
		return nil, response.MethodNotAllowed() // as upstream, which routes built-in kinds by method
	}
	if rq.Verb == request.VerbWatch && rq.HTTP.Method != http.MethodGet && rq.HTTP.Method != http.MethodHead {
		return nil, response.MethodNotAllowed() // watch/ in the path makes every method a watch
	}
	if rq.Sub != nil {
		return rq.findSubresourceVerb()
	}
	supported := rq.Row.Verbs
	if supported == nil {
		supported = allVerbs
	}
	if !slices.Contains(supported, rq.Verb) {
		return nil, response.MethodNotAllowed()
	}
	switch rq.Verb {
	case request.VerbGet:
		return handlerOr(rq.Row.Get, serveGet), nil
	case request.VerbList:
		return handlerOr(rq.Row.List, serveList), nil
	case request.VerbWatch:
		return serveWatch, nil
	case request.VerbCreate:
		if rq.Name != "" {
			return nil, response.MethodNotAllowed()
		}
		return handlerOr(rq.Row.Create, serveCreate), nil
	case request.VerbUpdate:
		return named(rq, serveUpdate)
	case request.VerbPatch:
		return named(rq, servePatch)
	case request.VerbDelete:
		return serveDelete, nil
	case request.VerbDeleteCollection:
		return serveDeleteCollection, nil
	}
	return nil, response.MethodNotAllowed()
}

// isOnNames reports whether a verb is about one object.
func isOnNames(verb string) bool {
	return verb == request.VerbGet || verb == request.VerbUpdate || verb == request.VerbPatch || verb == request.VerbDelete
}

// handlerOr returns the handler of a row, or generic if the row has none.
func handlerOr(handler resources.Handler, generic verbFunc) verbFunc {
	if handler == nil {
		return generic
	}
	return func(ctx context.Context, rq *Call) error { return handler(ctx, rq.backend.Special(rq)) }
}

func named(rq *Call, verb verbFunc) (verbFunc, error) {
	if rq.Name == "" {
		return nil, response.MethodNotAllowed()
	}
	return verb, nil
}

// checkScope rejects a request that does not fit the resource's scope: an object of a
// namespaced resource without a namespace, or of a cluster-scoped one with a namespace.
// A list or watch may span all namespaces.
func (rq *Call) checkScope() error {
	for _, segment := range []string{rq.Namespace, rq.Name} {
		// The segments become part of the key unchanged.
		if problems := path.IsValidPathSegmentName(segment); len(problems) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", segment, strings.Join(problems, ";")))
		}
	}
	switch {
	case !rq.Row.Namespaced && rq.Namespace != "":
		return response.NotFound()
	case !rq.Row.Namespaced || rq.Namespace != "":
		return nil
	case rq.Name != "":
		return response.NotFound()
	case rq.Verb != request.VerbList && rq.Verb != request.VerbWatch:
		return response.MethodNotAllowed()
	}
	return nil
}

func (rq *Call) findSubresourceVerb() (verbFunc, error) {
	if !slices.Contains(rq.Sub.Verbs, rq.Verb) && !rq.Sub.AnyMethod {
		return nil, response.MethodNotAllowed()
	}
	if rq.Sub.Connect != nil {
		return handlerOr(rq.Sub.Connect, nil), nil
	}
	switch rq.Verb {
	case request.VerbGet:
		return serveSubresourceGet, nil
	case request.VerbUpdate:
		return serveUpdate, nil
	case request.VerbPatch:
		return servePatch, nil
	case request.VerbCreate:
		return handlerOr(rq.Sub.Create, serveSubresourceCreate), nil
	}
	return nil, response.MethodNotAllowed()
}

// created returns the status code of a write.
func created(isNew bool) int {
	if isNew {
		return http.StatusCreated
	}
	return http.StatusOK
}
