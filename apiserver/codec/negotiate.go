package codec

import (
	"mime"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is what a client asked to be answered with.
type Target struct {
	Media Media
	// As is the kind that the answer is to be transformed to: "" (none), "Table",
	// "PartialObjectMetadata", "PartialObjectMetadataList", or a kind of aggregated
	// discovery.
	As schema.GroupVersionKind
	// Profile is the media type's profile parameter.
	Profile string
}

// Form names the target as one string, for caches of encoded bytes.
func (t Target) Form() string {
	return strconv.Itoa(int(t.Media)) + t.As.Kind + t.As.Version
}

// maxClauses bounds how much of an Accept header is read.
const maxClauses = 64

// Negotiate chooses the answer's form from an Accept header; allow says which
// transformations can be had here. A header that is empty gets JSON. ok is false
// when nothing that the client accepts is offered (406).
func Negotiate(accept string, allow func(as schema.GroupVersionKind) bool) (target Target, ok bool) {
	return NegotiateFor(accept, allow, nil)
}

// NegotiateFor is Negotiate among the forms that there are of what is asked for; has
// may be nil.
func NegotiateFor(accept string, allow func(as schema.GroupVersionKind) bool, has func(Target) bool) (target Target, ok bool) {
	if strings.TrimSpace(accept) == "" {
		return Target{}, true
	}
	bestQuality := 0.0
	for i, clause := range strings.Split(accept, ",") {
		if i == maxClauses {
			break
		}
		candidate, quality, fits := parseClause(clause, allow)
		if fits && quality > bestQuality && (has == nil || has(candidate)) {
			target, bestQuality, ok = candidate, quality, true
		}
	}
	return target, ok
}

func parseClause(clause string, allow func(schema.GroupVersionKind) bool) (Target, float64, bool) {
	mediaType, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
	if err != nil {
		return Target{}, 0, false
	}
	quality := 1.0
	if q, has := params["q"]; has {
		if quality, err = strconv.ParseFloat(q, 64); err != nil || quality < 0 || quality > 1 {
			return Target{}, 0, false
		}
	}
	var t Target
	switch mediaType {
	case "*/*", "application/*":
	default:
		media, known := ParseMedia(mediaType)
		if !known {
			return Target{}, 0, false
		}
		t.Media = media
	}
	if stream, has := params["stream"]; has && stream != "watch" {
		return Target{}, 0, false
	}
	t.Profile = params["profile"]
	if as := params["as"]; as != "" {
		t.As = schema.GroupVersionKind{Group: params["g"], Version: params["v"], Kind: as}
		if allow == nil || !allow(t.As) {
			return Target{}, 0, false
		}
	}
	return t, quality, true
}

// AllowTransforms accepts the transformations that lists, gets and watches of
// resources can make: Table, PartialObjectMetadata and, for lists,
// PartialObjectMetadataList of meta.k8s.io (v1 and v1beta1).
func AllowTransforms(as schema.GroupVersionKind) bool {
	if as.Group != metav1.GroupName || (as.Version != "v1" && as.Version != "v1beta1") {
		return false
	}
	switch as.Kind {
	case "Table", "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}
