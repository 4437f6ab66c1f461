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

// RequestInfo is parsed from a request's method and URL.
type RequestInfo struct {
	// Verb is one of the API's verbs, or the lower-case method of a request that
	// is not for a resource.
	Verb        string
	GVR         schema.GroupVersionResource
	Namespace   string
	Name        string
	Subresource string
}

// namespaceSubresources are the names that follow /namespaces/NAME/ without being a
// resource in that namespace.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// parseResourcePath parses the part of a URL after the group and version:
// [watch/][namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]], each segment escaped
// separately. ok is false for a path with more segments.
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
	if len(parts) > 3 && parts[2] != "proxy" { // proxy is followed by a path of its own
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

// wantsWatch reads the watch parameter as meta/v1 reads booleans: every value except
// "false" and "0" is true. The caller ignores it for a request that names an object.
func wantsWatch(query url.Values) bool {
	values, present := query["watch"]
	return present && values[0] != "false" && values[0] != "0"
}

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
