package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/remote"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/clock/inflight"
)

// Containers connects clients to the containers of pods. Upstream the pod's kubelet does,
// whose errors are plain text: errors of the Open methods that are not apierrors are
// returned to the client as a 500 with their text, as by upstream's apiserver.
type Containers interface {
	// OpenExec finds a running container of a scheduled pod. The returned function runs
	// the command until it exits or ctx ends; an error with an exit code
	// (utilexec.ExitError) is the command's own.
	OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (StreamFunc, error)
	// OpenAttach finds a running container. The returned function connects the streams
	// with its input and with its output from now on.
	OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (StreamFunc, error)
	// OpenPorts finds the handlers of the ports of a scheduled pod.
	OpenPorts(pod *corev1.Pod) (PortFunc, error)
	// NodeHandler returns the handler of a node's kubelet; nil if the kubelet is
	// unreachable.
	NodeHandler(node string) http.Handler
}

// StreamFunc serves the streams of one client. It returns when ctx ends, at the latest.
type StreamFunc = func(ctx context.Context, streams remotecommand.StreamOptions) error

// ServeExec runs a command in a container and connects the client to it.
func (rq *request) ServeExec(ctx context.Context) error { return rq.withTexts(rq.exec(ctx)) }

func (rq *request) exec(ctx context.Context) error {
	opts := &corev1.PodExecOptions{Container: rq.query.Get("container"), Command: rq.query["command"]}
	readStreamFlags(rq.query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.mayConnect(ctx, "PodExecOptions", opts); err != nil {
		return err
	}
	run, err := rq.openContainer(ctx, &opts.Container, func(pod *corev1.Pod) (StreamFunc, error) {
		return rq.server.opts.Containers.OpenExec(pod, opts)
	})
	if err != nil {
		return err
	}
	return rq.connect(ctx, remote.Options{
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY,
		Doing: "executing command in container", Run: run,
	})
}

// ServeAttach connects the client to a container's main process.
func (rq *request) ServeAttach(ctx context.Context) error { return rq.withTexts(rq.attach(ctx)) }

func (rq *request) attach(ctx context.Context) error {
	opts := &corev1.PodAttachOptions{Container: rq.query.Get("container")}
	readStreamFlags(rq.query, &opts.Stdin, &opts.Stdout, &opts.Stderr, &opts.TTY)
	if err := rq.mayConnect(ctx, "PodAttachOptions", opts); err != nil {
		return err
	}
	run, err := rq.openContainer(ctx, &opts.Container, func(pod *corev1.Pod) (StreamFunc, error) {
		return rq.server.opts.Containers.OpenAttach(pod, opts)
	})
	if err != nil {
		return err
	}
	return rq.connect(ctx, remote.Options{
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, TTY: opts.TTY,
		Doing: "attaching to container", Run: run,
	})
}

// streams reports whether the request is for a subresource that connects the client to a
// pod.
func (rq *request) streams() bool { return rq.sub != nil && rq.sub.Streams }

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
func (rq *request) openContainer(ctx context.Context, container *string, open func(pod *corev1.Pod) (StreamFunc, error)) (StreamFunc, error) {
	defer inflight.Begin(rq.server.opts.Ledger, inflight.Request).End()
	pod, err := rq.pod(ctx, rq.Name)
	if err != nil {
		return nil, err
	}
	if err := chooseStreamed(pod, container); err != nil {
		return nil, err
	}
	if err := rq.checkHost(pod); err != nil {
		return nil, err
	}
	run, err := open(pod)
	if err != nil {
		return nil, kubeletError(err)
	}
	return run, nil
}

// mayConnect authorizes the request as a create, because WebSockets are opened by GET and
// the permission to read must not allow running commands. It then calls webhooks and
// policies.
func (rq *request) mayConnect(ctx context.Context, kind string, opts runtime.Object) error {
	if rq.Verb != verbCreate {
		info := rq.RequestInfo
		info.Verb = verbCreate
		if err := rq.server.decide(ctx, resourceAttributes(rq.user, rq.GVR.GroupVersion(), info)); err != nil {
			return err
		}
	}
	return rq.admitConnect(ctx, kind, opts)
}

// pod reads the pod of a request.
func (rq *request) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pods := rq.server.stored[corev1.SchemeGroupVersion.WithResource("pods")]
	obj, err := pods.Get(ctx, pods.Key(rq.Namespace, name), name)
	return podIn(obj, err)
}

// podIn returns the object as a pod.
func podIn(obj runtime.Object, err error) (*corev1.Pod, error) {
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, response.NotFound()
	}
	return pod, nil
}

// checkHost rejects a request for a pod without a node.
func (rq *request) checkHost(pod *corev1.Pod) error {
	switch {
	case pod.Spec.NodeName == "":
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	case rq.server.opts.Containers == nil:
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

// textError is a kubelet's plain-text error, which upstream's apiserver passes on
// unchanged.
type textError struct {
	code int
	text string
}

func (e *textError) Error() string { return e.text }

// withTexts sends a textError as plain text and returns any other error.
func (rq *request) withTexts(err error) error {
	var text *textError
	if errors.As(err, &text) {
		http.Error(rq.w, text.text, text.code)
		return nil
	}
	return err
}

func kubeletError(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return &textError{code: http.StatusInternalServerError, text: err.Error()}
}

// connect upgrades the connection and serves it until it ends or the server stops.
func (rq *request) connect(ctx context.Context, opts remote.Options) error {
	ctx, cancel := rq.untilServerStops(ctx)
	defer cancel()
	ctx = klog.NewContext(ctx, rq.server.opts.Logger)
	w, err := hijackable(rq.w)
	if err != nil {
		return err
	}
	return remote.Serve(w, rq.r.WithContext(ctx), opts)
}

// hijackable returns the underlying writer that supports hijacking.
func hijackable(w http.ResponseWriter) (http.ResponseWriter, error) {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return w, nil
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, apierrors.NewBadRequest("streams need a connection of HTTP/1.1 over the socket")
		}
		w = wrapper.Unwrap()
	}
}
