package resources

import corev1 "k8s.io/api/core/v1"

// The subresources that upstream's apiserver serves by a request to a node or a pod.

// podLog is the log of a pod's containers.
func podLog() Subresource {
	return Subresource{Name: "log", Verbs: []string{"get"}, Connect: serve(Request.ServeLog), Produces: []string{"text/plain"}, NoTable: true, Follows: follows}
}

// streams are the subresources that connect a client with a container.
func streams() []Subresource {
	return []Subresource{
		stream("exec", "PodExecOptions", serve(Request.ServeExec)),
		stream("attach", "PodAttachOptions", serve(Request.ServeAttach)),
		stream("portforward", "PodPortForwardOptions", serve(Request.ServePortForward)),
	}
}

func stream(name, options string, connect Handler) Subresource {
	return Subresource{
		Name: name, GroupVersionKind: corev1.SchemeGroupVersion.WithKind(options), Verbs: []string{"create", "get"},
		Connect: connect, Streams: true,
	}
}

// proxy is the subresource that passes HTTP requests on.
func proxy(options string, connect Handler) Subresource {
	return Subresource{
		Name: "proxy", GroupVersionKind: corev1.SchemeGroupVersion.WithKind(options),
		Verbs:   []string{"create", "delete", "get", "patch", "update"},
		Connect: connect, AnyMethod: true,
	}
}
