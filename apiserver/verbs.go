package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
)

// verbFunc serves one verb. The error that it returns is sent as a Status.
type verbFunc func(ctx context.Context, rq *request) error

// allVerbs are the verbs of a row without Verbs.
var allVerbs = []string{verbCreate, verbDelete, verbDeleteCollection, verbGet, verbList, verbPatch, verbUpdate, verbWatch}

// findVerb returns the function that serves the request, or the error to respond with.
func (rq *request) findVerb() (verbFunc, error) {
	if rq.r.Method == http.MethodHead && !rq.row.Custom && (rq.sub == nil || !rq.sub.AnyMethod) {
		return nil, response.MethodNotAllowed() // as upstream, which routes built-in kinds by method
	}
	if rq.sub != nil {
		return rq.findSubresourceVerb()
	}
	supported := rq.row.Verbs
	if supported == nil {
		supported = allVerbs
	}
	if !slices.Contains(supported, rq.Verb) {
		return nil, response.MethodNotAllowed()
	}
	switch rq.Verb {
	case verbGet:
		return handlerOr(rq.row.Get, serveGet), nil
	case verbList:
		return handlerOr(rq.row.List, serveList), nil
	case verbWatch:
		return serveWatch, nil
	case verbCreate:
		if rq.Name != "" {
			return nil, response.MethodNotAllowed()
		}
		return handlerOr(rq.row.Create, serveCreate), nil
	case verbUpdate:
		return named(rq, serveUpdate)
	case verbPatch:
		return named(rq, servePatch)
	case verbDelete:
		return serveDelete, nil
	case verbDeleteCollection:
		return serveDeleteCollection, nil
	}
	return nil, response.MethodNotAllowed()
}

// handlerOr returns the handler of a row, or generic if the row has none.
func handlerOr(handler resources.Handler, generic verbFunc) verbFunc {
	if handler == nil {
		return generic
	}
	return func(ctx context.Context, rq *request) error { return handler(ctx, rq) }
}

func named(rq *request, verb verbFunc) (verbFunc, error) {
	if rq.Name == "" {
		return nil, response.MethodNotAllowed()
	}
	return verb, nil
}

// checkScope rejects a request that does not fit the resource's scope: an object of a
// namespaced resource without a namespace, or of a cluster-scoped one with a namespace.
// A list or watch may span all namespaces.
func (rq *request) checkScope() error {
	for _, segment := range []string{rq.Namespace, rq.Name} {
		// The segments become part of the key unchanged.
		if problems := path.IsValidPathSegmentName(segment); len(problems) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", segment, strings.Join(problems, ";")))
		}
	}
	switch {
	case !rq.row.Namespaced && rq.Namespace != "":
		return response.NotFound()
	case !rq.row.Namespaced || rq.Namespace != "":
		return nil
	case rq.Name != "":
		return response.NotFound()
	case rq.Verb != verbList && rq.Verb != verbWatch:
		return response.MethodNotAllowed()
	}
	return nil
}

func (rq *request) findSubresourceVerb() (verbFunc, error) {
	if !slices.Contains(rq.sub.Verbs, rq.Verb) && !rq.sub.AnyMethod {
		return nil, response.MethodNotAllowed()
	}
	if rq.sub.Connect != nil {
		return handlerOr(rq.sub.Connect, nil), nil
	}
	switch rq.Verb {
	case verbGet:
		return serveSubresourceGet, nil
	case verbUpdate:
		return serveUpdate, nil
	case verbPatch:
		return servePatch, nil
	case verbCreate:
		return handlerOr(rq.sub.Create, serveSubresourceCreate), nil
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
