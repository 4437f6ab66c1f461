package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// verbFunc serves one verb. What it returns as an error is answered as a Status.
type verbFunc func(ctx context.Context, rq *request) error

// allVerbs are what a row without Verbs supports.
var allVerbs = []string{verbCreate, verbDelete, verbDeleteCollection, verbGet, verbList, verbPatch, verbUpdate, verbWatch}

// findVerb says what serves the request, or why nothing does.
func (rq *request) findVerb() (verbFunc, error) {
	if rq.r.Method == http.MethodHead && !rq.row.Custom && (rq.sub == nil || !rq.proxies()) {
		return nil, errMethodNotAllowed() // as upstream, which routes built-in kinds by method
	}
	if rq.sub != nil {
		return rq.findSubresourceVerb()
	}
	supported := rq.row.Verbs
	if supported == nil {
		supported = allVerbs
	}
	if !slices.Contains(supported, rq.Verb) {
		return nil, errMethodNotAllowed()
	}
	if rq.row.Computed {
		return findComputed(rq.row, rq.Verb)
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
			return nil, errMethodNotAllowed()
		}
		if rq.row.Via != nil {
			return serveVia, nil
		}
		if rq.row.Asked {
			return serveAnswer, nil
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
	return nil, errMethodNotAllowed()
}

func named(rq *request, verb verbFunc) (verbFunc, error) {
	if rq.Name == "" {
		return nil, errMethodNotAllowed()
	}
	return verb, nil
}

// errMethodNotAllowed and errNotFoundPath are the answers to what no route leads to,
// within the groups that are served.
func errMethodNotAllowed() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}

func errNotFoundPath() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}

// checkScope refuses what the resource's scope has no place for: an object of a
// namespaced resource outside any namespace, or of another inside one. All
// namespaces at once can be listed and watched.
func (rq *request) checkScope() error {
	for _, segment := range []string{rq.Namespace, rq.Name} {
		// A key is made of them as they are.
		if problems := path.IsValidPathSegmentName(segment); len(problems) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", segment, strings.Join(problems, ";")))
		}
	}
	switch {
	case !rq.row.Namespaced && rq.Namespace != "":
		return errNotFoundPath()
	case !rq.row.Namespaced || rq.Namespace != "":
		return nil
	case rq.Name != "":
		return errNotFoundPath()
	case rq.Verb != verbList && rq.Verb != verbWatch:
		return errMethodNotAllowed()
	}
	return nil
}

func (rq *request) findSubresourceVerb() (verbFunc, error) {
	if !slices.Contains(rq.sub.Verbs, rq.Verb) && (rq.sub == nil || !rq.proxies()) { // which takes any method
		return nil, errMethodNotAllowed()
	}
	if rq.sub.Proxied {
		return rq.findProxied(), nil
	}
	if rq.sub.Asked {
		return serveAnswer, nil
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
	return nil, errMethodNotAllowed()
}

// created is the code of an answer to a write.
func created(isNew bool) int {
	if isNew {
		return http.StatusCreated
	}
	return http.StatusOK
}
