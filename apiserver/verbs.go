package apiserver

import (
	"context"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// verbFunc serves one verb. What it returns as an error is answered as a Status.
type verbFunc func(ctx context.Context, rq *request) error

// allVerbs are what a row without Verbs supports.
var allVerbs = []string{verbCreate, verbDelete, verbDeleteCollection, verbGet, verbList, verbPatch, verbUpdate, verbWatch}

// findVerb says what serves the request, or why nothing does.
func (rq *request) findVerb() (verbFunc, error) {
	if rq.sub != nil {
		return rq.findSubresourceVerb()
	}
	supported := rq.row.Verbs
	if supported == nil {
		supported = allVerbs
	}
	if !slices.Contains(supported, rq.Verb) {
		return nil, methodNotAllowed(rq)
	}
	switch rq.Verb {
	case verbGet:
		return serveGet, nil
	case verbList:
		return serveList, nil
	case verbWatch:
		return serveWatch, nil
	case verbCreate:
		if rq.Name != "" {
			return nil, methodNotAllowed(rq)
		}
		if rq.row.Via != nil {
			return serveVia, nil
		}
		return serveCreate, nil
	case verbUpdate:
		return named(rq, serveUpdate)
	case verbPatch:
		return named(rq, servePatch)
	case verbDelete:
		return serveDelete, nil
	case verbDeleteCollection:
		return serveDeleteCollection, nil
	}
	return nil, methodNotAllowed(rq)
}

func named(rq *request, verb verbFunc) (verbFunc, error) {
	if rq.Name == "" {
		return nil, methodNotAllowed(rq)
	}
	return verb, nil
}

func methodNotAllowed(rq *request) error {
	return apierrors.NewMethodNotSupported(rq.groupResource(), rq.Verb)
}

func (rq *request) findSubresourceVerb() (verbFunc, error) {
	if !slices.Contains(rq.sub.Verbs, rq.Verb) {
		return nil, methodNotAllowed(rq)
	}
	switch rq.Verb {
	case verbGet:
		return serveSubresourceGet, nil
	case verbUpdate:
		return serveUpdate, nil
	case verbPatch:
		return servePatch, nil
	case verbCreate:
		return serveSubresourceCreate, nil
	}
	return nil, methodNotAllowed(rq)
}

// created is the code of an answer to a write.
func created(isNew bool) int {
	if isNew {
		return http.StatusCreated
	}
	return http.StatusOK
}
