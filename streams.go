package minikcm

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/streaming"
)

// containers is what the apiserver reaches containers by.
type containers struct{ *logs }

// OpenExec implements streaming.Containers.
func (c containers) OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (streaming.StreamFunc, error) {
	if kubelets := c.kubelets.Load(); kubelets != nil {
		return kubelets.OpenExec(pod, opts)
	}
	return nil, errNoKubelets()
}

// OpenAttach implements streaming.Containers.
func (c containers) OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (streaming.StreamFunc, error) {
	if kubelets := c.kubelets.Load(); kubelets != nil {
		return kubelets.OpenAttach(pod, opts)
	}
	return nil, errNoKubelets()
}

// OpenPorts implements streaming.Containers.
func (c containers) OpenPorts(pod *corev1.Pod) (streaming.PortFunc, error) {
	if kubelets := c.kubelets.Load(); kubelets != nil {
		return kubelets.OpenPorts(pod)
	}
	return nil, errNoKubelets()
}

// NodeHandler implements streaming.Containers.
func (c containers) NodeHandler(node string) http.Handler {
	if kubelets := c.kubelets.Load(); kubelets != nil {
		return kubelets.NodeHandler(node)
	}
	return nil
}

func errNoKubelets() error {
	return apierrors.NewServiceUnavailable("the simulated kubelets have not started yet")
}
