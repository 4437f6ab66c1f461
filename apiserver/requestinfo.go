package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The verbs of the API, as authorization and audit name them.
const (
	verbGet              = "get"
	verbList             = "list"
	verbWatch            = "watch"
	verbCreate           = "create"
	verbUpdate           = "update"
	verbPatch            = "patch"
	verbDelete           = "delete"
	verbDeleteCollection = "deletecollection"
)

// RequestInfo is what a request's method and URL say, read once.
type RequestInfo struct {
	// Verb is one of the API's verbs, or the lower-case method of a request that
	// is not for a resource.
	Verb        string
	GVR         schema.GroupVersionResource
	Namespace   string
	Name        string
	Subresource string
}

// namespaceSubresources are what may follow /namespaces/NAME/ without being a
// resource in that namespace.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// parseResourcePath reads what follows the group and version in a URL:
// [watch/][namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]], each escaped by itself. ok is
// false for a path that has more.
func parseResourcePath(gv schema.GroupVersion, method, rest string, query url.Values) (info RequestInfo, ok bool) {
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	for i, part := range parts {
		unescaped, err := url.PathUnescape(part)
		if err != nil {
			return info, false
		}
		parts[i] = unescaped
	}
	watchPrefix := false
	if parts[0] == "watch" && len(parts) > 1 {
		watchPrefix, parts = true, parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		if len(parts) > 2 && !namespaceSubresources[parts[2]] {
			info.Namespace, parts = parts[1], parts[2:]
		}
	}
	if len(parts) > 3 && parts[2] != "proxy" { // which takes a path of its own
		return info, false
	}
	info.GVR = gv.WithResource(parts[0])
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = parts[2]
	}
	info.Verb = verbOf(method, info.Name != "", watchPrefix || info.Name == "" && wantsWatch(query))
	if watchPrefix && info.Name != "" {
		query.Set("fieldSelector", "metadata.name="+info.Name)
		info.Name = ""
	}
	return info, info.GVR.Resource != ""
}

// wantsWatch reads the parameter as meta/v1 reads booleans: all but "false" and "0"
// is true. Beside the name of an object it means nothing.
func wantsWatch(query url.Values) bool {
	values, present := query["watch"]
	return present && values[0] != "false" && values[0] != "0"
}

func isTrue(value string) bool { return value == "true" || value == "1" }

func verbOf(method string, named, watch bool) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		switch {
		case watch:
			return verbWatch
		case named:
			return verbGet
		}
		return verbList
	case http.MethodPost:
		return verbCreate
	case http.MethodPut:
		return verbUpdate
	case http.MethodPatch:
		return verbPatch
	case http.MethodDelete:
		if named {
			return verbDelete
		}
		return verbDeleteCollection
	}
	return strings.ToLower(method)
}
