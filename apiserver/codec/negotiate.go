package codec

import (
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
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
	// Pretty asks for JSON that is indented.
	Pretty bool
}

// Form names the target as one string, for caches of encoded bytes.
func (t Target) Form() string {
	return strconv.Itoa(int(t.Media)) + t.As.Kind + t.As.Version
}

// maxAccept bounds how much of an Accept header is read, in bytes.
const maxAccept = 8192

// Negotiate chooses the answer's form from an Accept header; allow says which
// transformations can be had here. A header that is empty gets JSON. ok is false
// when nothing that the client accepts is offered (406).
func Negotiate(accept string, allow func(as schema.GroupVersionKind) bool) (target Target, ok bool) {
	return NegotiateFor(accept, allow, nil)
}

// NegotiateFor is Negotiate among the forms that there are of what is asked for; has
// may be nil. Clauses are weighed by their q and then by how particular they are, as
// upstream does; one whose form cannot be had is passed over.
func NegotiateFor(accept string, allow func(as schema.GroupVersionKind) bool, has func(Target) bool) (target Target, ok bool) {
	if accept == "" {
		return Target{}, true
	}
	if accept == ProtobufOrJSON { // what the process's own clients ask for
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

// covers reports whether a clause's type, which may be a wildcard, is that of a
// format.
func covers(clause *goautoneg.Accept, media Media) bool {
	kind, subtype, _ := strings.Cut(media.ContentType(), "/")
	switch {
	case clause.Type == kind:
		return clause.SubType == subtype || clause.SubType == "*"
	default:
		return clause.Type == "*" && clause.SubType == "*"
	}
}

// parameters reads those of a clause. ok is false if one of them asks for what is not
// there.
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
	// Tables have no protobuf form.
	return t, t.As.Kind != "Table" || media != Protobuf
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
