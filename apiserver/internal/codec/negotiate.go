package codec

import (
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is the form of the response that a client requests.
type Target struct {
	Media Media
	// As is the kind that the response is transformed to: "" (none), "Table",
	// "PartialObjectMetadata", "PartialObjectMetadataList", or a kind of aggregated
	// discovery.
	As schema.GroupVersionKind
	// Profile is the media type's profile parameter.
	Profile string
	// Pretty requests indented JSON.
	Pretty bool
}

// Form returns a key for caches of encoded bytes.
func (t Target) Form() string {
	return strconv.Itoa(int(t.Media)) + t.As.Kind + t.As.Version
}

// maxAccept limits the part of an Accept header that is parsed, in bytes.
const maxAccept = 8192

// Negotiate selects the form of the response by an Accept header; allow reports which
// transformations are supported. An empty header selects JSON. ok is false if no clause
// can be satisfied (406).
func Negotiate(accept string, allow func(as schema.GroupVersionKind) bool) (target Target, ok bool) {
	return NegotiateFor(accept, allow, nil)
}

// NegotiateFor is Negotiate restricted to the forms for which has returns true; has may
// be nil. Clauses are ordered by their q and then by specificity, as upstream; clauses
// that cannot be satisfied are skipped.
func NegotiateFor(accept string, allow func(as schema.GroupVersionKind) bool, has func(Target) bool) (target Target, ok bool) {
	if accept == "" {
		return Target{}, true
	}
	if accept == ProtobufOrJSON { // the Accept header of the process's own clients
		if target = (Target{Media: Protobuf}); has == nil || has(target) {
			return target, true
		}
		return Target{}, true
	}
	if len(accept) > maxAccept {
		accept = accept[:maxAccept]
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, media := range []Media{JSON, YAML, Protobuf} {
			if !covers(&clause, media) {
				continue
			}
			if target, ok := parameters(clause.Params, media, allow); ok && (has == nil || has(target)) {
				return target, true
			}
		}
	}
	return Target{}, false
}

// covers reports whether a clause's type, which may be a wildcard, matches an encoding.
func covers(clause *goautoneg.Accept, media Media) bool {
	kind, subtype, _ := strings.Cut(media.ContentType(), "/")
	switch {
	case clause.Type == kind:
		return clause.SubType == subtype || clause.SubType == "*"
	default:
		return clause.Type == "*" && clause.SubType == "*"
	}
}

// parameters parses the parameters of a clause. ok is false if one of them cannot be
// satisfied.
func parameters(params map[string]string, media Media, allow func(schema.GroupVersionKind) bool) (t Target, ok bool) {
	t = Target{Media: media, Profile: params["profile"], Pretty: params["pretty"] == "1"}
	if stream := params["stream"]; stream != "" && (stream != "watch" || media == YAML) {
		return t, false
	}
	if version := params["sv"]; version != "" && (version != "v1" || allow == nil) {
		return t, false
	}
	t.As = schema.GroupVersionKind{Group: params["g"], Version: params["v"], Kind: params["as"]}
	if t.As == (schema.GroupVersionKind{}) {
		return t, true
	}
	if allow == nil || !allow(t.As) {
		return t, false
	}
	// Tables have no protobuf encoding.
	return t, t.As.Kind != "Table" || media != Protobuf
}

// AllowTransforms accepts the transformations of lists, gets and watches: Table,
// PartialObjectMetadata and, for lists, PartialObjectMetadataList of meta.k8s.io (v1
// and v1beta1).
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
