package openapi

import (
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/common"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// text is the model of a plain-text response.
const text = ""

// proxyMethods are the methods that a proxy passes on.
var proxyMethods = []string{
	http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut,
}

// connectOptions returns the options of a connection's URL, by the kind in discovery.
func connectOptions(kind string) any {
	switch kind {
	case "PodExecOptions":
		return corev1.PodExecOptions{}
	case "PodAttachOptions":
		return corev1.PodAttachOptions{}
	case "PodPortForwardOptions":
		return corev1.PodPortForwardOptions{}
	case "PodProxyOptions":
		return corev1.PodProxyOptions{}
	case "ServiceProxyOptions":
		return corev1.ServiceProxyOptions{}
	case "NodeProxyOptions":
		return corev1.NodeProxyOptions{}
	}
	return nil
}

// addProxied adds a subresource that is passed on to a node or a pod: a log is read,
// all others are connections.
func (o *operations) addProxied(path string, sub *resources.Subresource, parameters []common.Parameter) {
	if sub.Kind == "" {
		o.add(route{
			method: http.MethodGet, path: path, id: "read" + o.prefix() + o.scope + o.row.Kind + upperFirst(sub.Name), action: "get",
			description: "read " + sub.Name + " of the specified " + o.row.Kind,
			parameters:  slices.Concat(parameters, queryParameters(corev1.PodLogOptions{})),
			produces:    append([]string{"text/plain"}, objects...), reply: text,
		})
		return
	}
	options := connectOptions(sub.Kind)
	if options == nil {
		return
	}
	parameters = slices.Concat(parameters, queryParameters(options))
	if sub.Name != "proxy" {
		o.connect(path, "", []string{http.MethodGet, http.MethodPost}, sub, parameters)
		return
	}
	o.connect(path, "", proxyMethods, sub, parameters)
	beneath := append(slices.Clone(parameters), pathParameter("path", "The path of what is asked for."))
	o.connect(path+"/{path}", "WithPath", proxyMethods, sub, beneath)
}

func (o *operations) connect(path, suffix string, methods []string, sub *resources.Subresource, parameters []common.Parameter) {
	for _, method := range methods {
		o.all = append(o.all, &route{
			method: method, path: path, action: "connect", kind: sub.GroupVersionKind, tag: tagOf(o.row.GroupVersion()),
			id:          "connect" + o.prefix() + methodName(method) + o.scope + o.row.Kind + upperFirst(sub.Name) + suffix,
			description: "connect " + method + " requests to " + sub.Name + " of " + o.row.Kind,
			parameters:  parameters, consumes: anything, produces: anything,
			reply: text, codes: []int{http.StatusOK},
		})
	}
}

// methodName returns a method as in an operation's name: "Get".
func methodName(method string) string { return method[:1] + strings.ToLower(method[1:]) }
