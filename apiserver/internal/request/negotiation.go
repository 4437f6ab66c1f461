package request

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/response"
)

// Negotiate chooses the format of the response. For built-in kinds upstream first
// matches the media types in Accept without parameters, and knows only one wildcard
// there.
func (rq *Request) Negotiate() error {
	accept := rq.HTTP.Header.Get("Accept")
	free := rq.Sub != nil && rq.Sub.Connect != nil && rq.Sub.Produces == nil // the target of a proxied request chooses its own format
	if accept != codec.ProtobufOrJSON && !rq.Row.Custom && !free {
		produced := codec.Supported()
		if rq.Sub != nil {
			produced = append(slices.Clone(rq.Sub.Produces), produced...)
		}
		if rq.Verb == VerbList || rq.Verb == VerbWatch {
			produced = append(produced, codec.Streamed()...)
		}
		if !acceptsAny(accept, produced) {
			return routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(produced, ", "))
		}
	}
	target, ok := codec.NegotiateFor(accept, codec.AllowTransforms, rq.hasForm)
	if !ok && !free {
		return response.NotAcceptable()
	}
	rq.Target = target
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

// UnknownPatch returns the error for a patch type that the row does not support.
func (rq *Request) UnknownPatch() error {
	if !rq.Row.Custom {
		return routeError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	}
	return response.UnsupportedMediaType(rq.PatchTypes()...)
}

// Timeout returns the time limit of the request; see TimeoutOf.
func (rq *Request) Timeout() (time.Duration, error) { return TimeoutOf(rq.Query) }

// TimeoutOf returns the time limit of a request with this query: the client's, if it is below
// upstream's limit. None and zero mean the limit.
func TimeoutOf(query url.Values) (time.Duration, error) {
	value := query.Get("timeout")
	if value == "" {
		return MaxDuration, nil
	}
	asked, err := time.ParseDuration(value)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	if asked <= 0 || asked > MaxDuration {
		return MaxDuration, nil
	}
	return asked, nil
}
