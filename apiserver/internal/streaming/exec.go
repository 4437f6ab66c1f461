package streaming

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/remote"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/peers"
)

// Exec runs a command in a container and connects the client to it.
func (s *Server) Exec(ctx context.Context, rq *Request) error { return texts(s.serveExec)(ctx, rq) }

func (s *Server) serveExec(ctx context.Context, rq *Request) error {
	opts := &corev1.PodExecOptions{Container: rq.Query.Get("container"), Command: rq.Query["command"]}
	readStreamFlags(rq.Query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.permit(ctx, opts); err != nil {
		return err
	}
	return s.serveContainer(ctx, rq, containerCall{
		container: opts.Container, command: opts.Command,
		Options: remote.Options{
			Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY, Doing: "executing command in container",
		},
		open: func(pod *corev1.Pod, container string) (StreamFunc, error) {
			opts.Container = container
			return s.opts.Kubelets.OpenExec(pod, opts)
		},
	})
}

// Attach connects the client to a container's main process.
func (s *Server) Attach(ctx context.Context, rq *Request) error { return texts(s.serveAttach)(ctx, rq) }

func (s *Server) serveAttach(ctx context.Context, rq *Request) error {
	opts := &corev1.PodAttachOptions{Container: rq.Query.Get("container")}
	readStreamFlags(rq.Query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.permit(ctx, opts); err != nil {
		return err
	}
	return s.serveContainer(ctx, rq, containerCall{
		container: opts.Container,
		Options: remote.Options{
			Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY, Doing: "attaching to container",
		},
		open: func(pod *corev1.Pod, container string) (StreamFunc, error) {
			opts.Container = container
			return s.opts.Kubelets.OpenAttach(pod, opts)
		},
	})
}

// readStreamFlags decodes the stream parameters, for which k8s.io/api has no conversion.
func readStreamFlags(query url.Values, stdin, stdout, stderr, tty *bool) {
	for name, value := range map[string]*bool{"stdin": stdin, "stdout": stdout, "stderr": stderr, "tty": tty} {
		*value = resources.IsTrue(query, name)
	}
}

// containerCall is a request for the streams of a container.
type containerCall struct {
	container string
	command   []string
	remote.Options
	// open opens the streams of a container in this process.
	open func(pod *corev1.Pod, container string) (StreamFunc, error)
}

// serveContainer connects the client to a container, here or in another process.
func (s *Server) serveContainer(ctx context.Context, rq *Request, call containerCall) error {
	peer, err := s.openContainer(ctx, rq, &call)
	switch {
	case err != nil:
		return err
	case peer == nil:
		return s.connect(ctx, rq, call.Options)
	}
	query := withStreams(rq.Query, &call.Options, call.container, call.command)
	return s.passOn(ctx, rq, peer, rq.HTTP.URL.Path, query, undialled)
}

// openContainer finds the pod and its container, and opens the streams, or returns the process
// that has them. The request is counted in flight only until then; the StreamFunc must count
// its own work.
func (s *Server) openContainer(ctx context.Context, rq *Request, call *containerCall) (*peers.Peer, error) {
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	defer work.End()
	pod, err := s.pod(ctx, rq.Namespace, rq.Name)
	if err != nil {
		return nil, err
	}
	if err := chooseStreamed(pod, &call.container); err != nil {
		return nil, err
	}
	peer, err := s.host(ctx, rq, pod)
	if peer != nil || err != nil {
		return peer, err
	}
	if err := s.dial(inflight.With(ctx, work), pod.Spec.NodeName); err != nil {
		return nil, undialled(err)
	}
	if call.Run, err = call.open(pod, call.container); err != nil {
		return nil, kubeletError(err)
	}
	return nil, nil
}

// host returns the process that simulates the node of a pod, nil if it is this one. It rejects a
// request for a pod without a node.
func (s *Server) host(ctx context.Context, rq *Request, pod *corev1.Pod) (*peers.Peer, error) {
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	peer, err := s.peer(ctx, rq, pod.Spec.NodeName)
	if peer == nil && err == nil && s.opts.Kubelets == nil {
		err = apierrors.NewServiceUnavailable("this apiserver reaches no containers")
	}
	return peer, err
}

// chooseStreamed chooses a container as chooseContainer does.
func chooseStreamed(pod *corev1.Pod, container *string) error {
	opts := &corev1.PodLogOptions{Container: *container}
	err := chooseContainer(pod, opts)
	*container = opts.Container
	return err
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
