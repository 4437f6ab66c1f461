package servers

import (
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// UserAgent is the header of the requests that kubelets make.
const UserAgent = "kube-probe/minikcm"

// ProbeRequest returns the request of a kubelet's probe or hook, without what belongs to its connection.
func ProbeRequest(get *corev1.HTTPGetAction) *Request {
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path}
	}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path
	}
	r := &Request{Method: "GET", Path: u.Path, URI: u.RequestURI(), Query: First(u.Query()), Headers: map[string]string{"user-agent": UserAgent, "accept": "*/*", "connection": "close"}}
	for _, h := range get.HTTPHeaders {
		if name := strings.ToLower(h.Name); name == "host" {
			r.Host = h.Value
		} else {
			r.Headers[name] = h.Value
		}
	}
	return r
}

// First returns the first value of each name.
func First(values map[string][]string) map[string]string {
	first := make(map[string]string, len(values))
	for name, all := range values {
		if len(all) > 0 {
			first[name] = all[0]
		}
	}
	return first
}
