package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/response"
)

// negotiate chooses the format of the response. For built-in kinds upstream first
// matches the media types in Accept without parameters, and knows only one wildcard
// there.
func (rq *request) negotiate() error {
	accept := rq.r.Header.Get("Accept")
	if accept != codec.ProtobufOrJSON && !rq.row.Custom && (rq.sub == nil || rq.sub.Connect == nil) {
		produced := codec.Supported()
		if rq.Verb == verbList || rq.Verb == verbWatch {
			produced = append(produced, codec.Streamed()...)
		}
		if !acceptsAny(accept, produced) {
			return routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(produced, ", "))
		}
	}
	target, ok := codec.NegotiateFor(accept, codec.AllowTransforms, rq.hasForm)
	if !ok && (rq.sub == nil || rq.sub.Connect == nil) { // the target of a proxied request chooses its own format
		return response.NotAcceptable()
	}
	rq.target = target
	return nil
}

func acceptsAny(accept string, produced []string) bool {
	if accept == "" {
		return true
	}
	for clause := range strings.SplitSeq(accept, ",") {
		bare, _, _ := strings.Cut(clause, ";")
		if bare = strings.Trim(bare, " "); bare == "*/*" || slices.Contains(produced, bare) {
			return true
		}
	}
	return false
}

// routeError returns upstream's error for a request that fails before its resource is
// known.
func routeError(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}

// unknownPatch returns the error for a patch type that the row does not support.
func (rq *request) unknownPatch() error {
	if !rq.row.Custom {
		return routeError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	}
	return response.UnsupportedMediaType(rq.patchTypes()...)
}

// timeout returns the time limit of the request: the client's, if it is below
// upstream's limit. None and zero mean the limit.
func (rq *request) timeout() (time.Duration, error) {
	value := rq.query.Get("timeout")
	if value == "" {
		return requestTimeout, nil
	}
	asked, err := time.ParseDuration(value)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	if asked <= 0 || asked > requestTimeout {
		return requestTimeout, nil
	}
	return asked, nil
}
