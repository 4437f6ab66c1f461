package resources

import corev1 "k8s.io/api/core/v1"

// The subresources that upstream's apiserver serves by a request to a node or a pod.

// podLog is the log of a pod's containers.
func podLog() Subresource {
	return Subresource{Name: "log", Verbs: []string{"get"}, Connect: serve(Request.ServeConnection), Follows: follows}
}

// streams are the subresources that connect a client with a container.
func streams() []Subresource {
	return []Subresource{
		stream("exec", "PodExecOptions"),
		stream("attach", "PodAttachOptions"),
		stream("portforward", "PodPortForwardOptions"),
	}
}

func stream(name, options string) Subresource {
	return Subresource{
		Name: name, GroupVersionKind: corev1.SchemeGroupVersion.WithKind(options), Verbs: []string{"create", "get"},
		Connect: serve(Request.ServeConnection), Streams: true,
	}
}

// proxy is the subresource that passes HTTP requests on.
func proxy(options string) Subresource {
	return Subresource{
		Name: "proxy", GroupVersionKind: corev1.SchemeGroupVersion.WithKind(options),
		Verbs:   []string{"create", "delete", "get", "patch", "update"},
		Connect: serve(Request.ServeConnection), AnyMethod: true,
	}
}
