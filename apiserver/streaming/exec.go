package streaming

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/remote"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/clock/inflight"
)

// Exec runs a command in a container and connects the client to it.
func (s *Server) Exec(ctx context.Context, rq *Request) error { return texts(s.serveExec)(ctx, rq) }

func (s *Server) serveExec(ctx context.Context, rq *Request) error {
	opts := &corev1.PodExecOptions{Container: rq.Query.Get("container"), Command: rq.Query["command"]}
	readStreamFlags(rq.Query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.permit(ctx, "PodExecOptions", opts); err != nil {
		return err
	}
	run, err := s.openContainer(ctx, rq, &opts.Container, func(pod *corev1.Pod) (StreamFunc, error) {
		return s.opts.Kubelets.OpenExec(pod, opts)
	})
	if err != nil {
		return err
	}
	return s.connect(ctx, rq, remote.Options{
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY,
		Doing: "executing command in container", Run: run,
	})
}

// Attach connects the client to a container's main process.
func (s *Server) Attach(ctx context.Context, rq *Request) error { return texts(s.serveAttach)(ctx, rq) }

func (s *Server) serveAttach(ctx context.Context, rq *Request) error {
	opts := &corev1.PodAttachOptions{Container: rq.Query.Get("container")}
	readStreamFlags(rq.Query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.permit(ctx, "PodAttachOptions", opts); err != nil {
		return err
	}
	run, err := s.openContainer(ctx, rq, &opts.Container, func(pod *corev1.Pod) (StreamFunc, error) {
		return s.opts.Kubelets.OpenAttach(pod, opts)
	})
	if err != nil {
		return err
	}
	return s.connect(ctx, rq, remote.Options{
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY,
		Doing: "attaching to container", Run: run,
	})
}

// readStreamFlags decodes the stream parameters, for which k8s.io/api has no conversion.
func readStreamFlags(query url.Values, stdin, stdout, stderr, tty *bool) {
	for name, value := range map[string]*bool{"stdin": stdin, "stdout": stdout, "stderr": stderr, "tty": tty} {
		if values := query[name]; len(values) > 0 {
			*value = isSet(values[0])
		}
	}
}

// isSet reads a boolean parameter as meta/v1 does: every value except "false" and "0" is
// true.
func isSet(value string) bool { return value != "false" && value != "0" }

// openContainer finds the pod and its container, and opens the stream. The request is
// counted in flight only until then; the StreamFunc must count its own work.
func (s *Server) openContainer(ctx context.Context, rq *Request, container *string, open func(pod *corev1.Pod) (StreamFunc, error)) (StreamFunc, error) {
	defer inflight.Begin(s.opts.Ledger, inflight.Request).End()
	pod, err := s.pod(ctx, rq.Namespace, rq.Name)
	if err != nil {
		return nil, err
	}
	if err := chooseStreamed(pod, container); err != nil {
		return nil, err
	}
	if err := s.checkHost(pod); err != nil {
		return nil, err
	}
	run, err := open(pod)
	if err != nil {
		return nil, kubeletError(err)
	}
	return run, nil
}

// checkHost rejects a request for a pod without a node.
func (s *Server) checkHost(pod *corev1.Pod) error {
	switch {
	case pod.Spec.NodeName == "":
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	case s.opts.Kubelets == nil:
		return apierrors.NewServiceUnavailable("this apiserver reaches no containers")
	}
	return nil
}

// chooseStreamed sets the container if the client named none and the pod has only one. It
// rejects a container that the pod does not have.
func chooseStreamed(pod *corev1.Pod, container *string) error {
	if *container != "" {
		return chooseContainer(pod, &corev1.PodLogOptions{Container: *container})
	}
	spec := &pod.Spec
	if len(spec.Containers) == 1 {
		*container = spec.Containers[0].Name
		return nil
	}
	var names []string
	for i := range spec.InitContainers {
		names = append(names, spec.InitContainers[i].Name)
	}
	for i := range spec.Containers {
		names = append(names, spec.Containers[i].Name)
	}
	for i := range spec.EphemeralContainers {
		names = append(names, spec.EphemeralContainers[i].Name)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
}

// connect upgrades the connection and serves it until it ends or the server stops.
func (s *Server) connect(ctx context.Context, rq *Request, opts remote.Options) error {
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	ctx = klog.NewContext(ctx, s.opts.Logger)
	w, err := response.Hijackable(rq.Writer)
	if err != nil {
		return err
	}
	return remote.Serve(w, rq.HTTP.WithContext(ctx), opts)
}
