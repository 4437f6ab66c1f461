package response

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Produces rejects every method except GET, and clients that accept none of the media types. The
// types are compared as upstream's router does: without parameters, preferences and partial
// wildcards.
func Produces(types []string, serve http.HandlerFunc) http.HandlerFunc {
	return GetOnly(func(w http.ResponseWriter, r *http.Request) {
		if !acceptsOne(r.Header.Get("Accept"), types) {
			message := "406: Not Acceptable\n\nAvailable representations: " + strings.Join(types, ", ")
			Error(w, r, apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "", message, 0, false))
			return
		}
		serve(w, r)
	})
}

func acceptsOne(accept string, types []string) bool {
	if accept == "" {
		return true
	}
	for clause := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(clause, ";")
		if media = strings.TrimSpace(media); media == "*/*" || slices.Contains(types, media) {
			return true
		}
	}
	return false
}
