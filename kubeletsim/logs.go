package kubeletsim

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// OpenLog returns a function that writes the log of one run of the container opts.Container.
// It returns the errors that a kubelet would. The log follows from the container's program and
// the cluster's time; up to script.KeepLines lines of a run are available.
func (k *serving) OpenLog(pod *corev1.Pod, opts *corev1.PodLogOptions) (write func(ctx context.Context, w io.Writer) error, err error) {
	n := k.nodes.Get(pod.Spec.NodeName)
	if n == nil {
		return nil, k.notSimulated(pod.Spec.NodeName)
	}
	if !n.Reachable() {
		//lint:ignore ST1005 the text of upstream's HTTP client
		return nil, apierrors.NewInternalError(fmt.Errorf("Get \"https://%s:10250/containerLogs/%s/%s/%s\": dial tcp %s:10250: connect: no route to host",
			n.Address, pod.Namespace, pod.Name, opts.Container, n.Address))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		e = k.pods.newEntry(pod)
	}
	shown := e.See()
	id, err := lifecycle.LoggedRun(shown.Pod, &shown.State, opts.Container, opts.Previous)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	reader := k.containers.Log(e, id, opts)
	if !reader.HasBegun(shown) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to retrieve container logs for %s", id))
	}
	return reader.Write, nil
}
