package minikcm

import (
	"context"
	"io"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim"
)

// logs brings the apiserver, which is there first, and the kubelets together.
type logs struct {
	kubelets atomic.Pointer[kubeletsim.Kubelets]
}

// OpenLog implements streaming.LogSource.
func (l *logs) OpenLog(pod *corev1.Pod, opts *corev1.PodLogOptions) (func(ctx context.Context, w io.Writer) error, error) {
	kubelets := l.kubelets.Load()
	if kubelets == nil {
		return nil, errNoKubelets()
	}
	return kubelets.OpenLog(pod, opts)
}
