package resources

import corev1 "k8s.io/api/core/v1"

// The subresources that upstream's apiserver serves by a request to a node or a pod.

// podLog is the log of a pod's containers.
func podLog() Subresource {
	return Subresource{Name: "log", Verbs: []string{"get"}, Proxied: true}
}

// connections are the subresources that connect a client with a container.
func connections() []Subresource {
	return []Subresource{
		connection("exec", "PodExecOptions", "create", "get"),
		connection("attach", "PodAttachOptions", "create", "get"),
		connection("portforward", "PodPortForwardOptions", "create", "get"),
	}
}

// proxyTo is the subresource that passes HTTP requests on.
func proxyTo(options string) Subresource {
	return connection("proxy", options, "create", "delete", "get", "patch", "update")
}

func connection(name, options string, verbs ...string) Subresource {
	return Subresource{Name: name, GroupVersionKind: corev1.SchemeGroupVersion.WithKind(options), Verbs: verbs, Proxied: true}
}
