package request

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// The verbs of the API, as authorization and audit name them.
const (
	VerbGet              = "get"
	VerbList             = "list"
	VerbWatch            = "watch"
	VerbCreate           = "create"
	VerbUpdate           = "update"
	VerbPatch            = "patch"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
)

// resolver parses method and URL as upstream's apiserver does.
var resolver = &apirequest.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Parse returns the RequestInfo of a request, and a context that has it, for InfoFrom and
// upstream's RequestInfoFrom. It is called once per request: authorization, fault rules,
// metrics and verbs must not disagree about a path.
func Parse(ctx context.Context, r *http.Request) (context.Context, *apirequest.RequestInfo) {
	info, err := resolver.NewRequestInfo(r)
	if err != nil { // /api/v1/watch, which names no resource
		info.IsResourceRequest = false
	}
	return apirequest.WithRequestInfo(ctx, info), info
}

// Info identifies the resource that a request is for.
type Info struct {
	// Verb is one of the API's verbs, or empty for an unknown method. A watch has a
	// Name only in the form of old clients, with watch/ before the resource in its path:
	// it watches that object.
	Verb        string
	GVR         schema.GroupVersionResource
	Namespace   string
	Name        string
	Subresource string
}

// InfoFrom returns the Info of the request whose context is ctx. ok is false if the path does
// not name a resource, an object or a subresource.
func InfoFrom(ctx context.Context) (info Info, ok bool) {
	parsed, found := apirequest.RequestInfoFrom(ctx)
	if !found {
		return Info{}, false
	}
	return infoOf(parsed)
}

// proxy is the subresource that is followed by a path of its own, and a verb of old
// clients in the path, which upstream does not serve any more.
const proxy = "proxy"

// infoOf is InfoFrom for a parsed request. It differs from RequestInfo where RequestInfo
// describes the request that is authorized and not the one that is served: a Namespace is not
// in itself, and a list whose field selector names one object has no name.
func infoOf(parsed *apirequest.RequestInfo) (info Info, ok bool) {
	if !parsed.IsResourceRequest || parsed.Resource == "" || parsed.Verb == proxy || (parsed.APIGroup == "") != (parsed.APIPrefix == "api") {
		return Info{}, false
	}
	parts := parsed.Parts
	if len(parts) > 3 && parts[2] != proxy {
		return Info{}, false
	}
	info = Info{
		Verb:        parsed.Verb,
		GVR:         schema.GroupVersionResource{Group: parsed.APIGroup, Version: parsed.APIVersion, Resource: parsed.Resource},
		Namespace:   parsed.Namespace,
		Subresource: parsed.Subresource,
	}
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if parsed.Resource == "namespaces" && !inNamespace(parsed) {
		info.Namespace = ""
	}
	return info, true
}

// inNamespace reports whether the path of a request has namespaces/NAMESPACE before the
// resource: RequestInfo's Parts begin with the resource.
func inNamespace(parsed *apirequest.RequestInfo) bool {
	prefix := 2 // api/VERSION
	if parsed.APIGroup != "" {
		prefix++
	}
	if watchesByPath(parsed) {
		prefix++
	}
	return strings.Count(strings.Trim(parsed.Path, "/"), "/")+1-len(parsed.Parts) > prefix
}

// watchesByPath reports whether a request is a watch in the form of old clients, with
// watch/ before the resource in its path.
func watchesByPath(parsed *apirequest.RequestInfo) bool {
	rest := strings.TrimPrefix(strings.Trim(parsed.Path, "/"), parsed.APIPrefix+"/")
	if parsed.APIGroup != "" {
		rest = strings.TrimPrefix(rest, parsed.APIGroup+"/")
	}
	return strings.HasPrefix(strings.TrimPrefix(rest, parsed.APIVersion+"/"), "watch/")
}
