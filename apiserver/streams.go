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
	"minikcm.dev/minikcm/clock/inflight"
)

// Containers reaches what runs in the containers of pods. Upstream asks the pod's
// kubelet, whose errors are plain text: those of Open methods that are not of apierrors
// are answered with 500 and their text, as a client would get it through upstream's
// apiserver.
type Containers interface {
	// OpenExec finds a running container of a pod that has a node. What it returns runs
	// the command until its end or ctx's; an error with an exit code (utilexec.ExitError)
	// is the command's own.
	OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (StreamFunc, error)
	// OpenAttach finds a running container, whose output from now on, and input, the
	// returned func connects with the streams.
	OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (StreamFunc, error)
	// OpenPorts finds what listens on the ports of a pod that has a node.
	OpenPorts(pod *corev1.Pod) (PortFunc, error)
	// NodeHandler is what the kubelet of a node answers; nil: it is out of reach.
	NodeHandler(node string) http.Handler
}

// StreamFunc serves the streams of one client. It ends with ctx, at the latest.
type StreamFunc = func(ctx context.Context, streams remotecommand.StreamOptions) error

// serveExec connects the client with a command that it names.
func serveExec(ctx context.Context, rq *request) error {
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

// serveAttach connects the client with a container's main process.
func serveAttach(ctx context.Context, rq *request) error {
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

// streams reports whether the request is for one of the subresources that connect a
// client with a pod.
func (rq *request) streams() bool {
	if rq.GVR != corev1.SchemeGroupVersion.WithResource("pods") {
		return false
	}
	switch rq.Subresource {
	case "exec", "attach", "portforward":
		return true
	}
	return false
}

// readStreamFlags reads what k8s.io/api has no conversion for.
func readStreamFlags(query url.Values, stdin, stdout, stderr, tty *bool) {
	for name, value := range map[string]*bool{"stdin": stdin, "stdout": stdout, "stderr": stderr, "tty": tty} {
		if values := query[name]; len(values) > 0 {
			*value = isSet(values[0])
		}
	}
}

// isSet reads a boolean parameter as meta/v1 does: what is there and does not say no
// means yes.
func isSet(value string) bool { return value != "false" && value != "0" }

// openContainer finds the pod and its container, and opens what is asked for of them. A
// request counts as in flight so long only: what lasts is for those to count who do it.
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

// mayConnect asks for the permission to create: WebSockets are opened by GET, and who may
// read must not run commands. Then it asks webhooks and policies.
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

// pod reads the pod that a request is about.
func (rq *request) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pods := rq.server.stored[corev1.SchemeGroupVersion.WithResource("pods")]
	obj, err := pods.Get(ctx, pods.Key(rq.Namespace, name), name)
	return podIn(obj, err)
}

// podIn is the pod that was read.
func podIn(obj runtime.Object, err error) (*corev1.Pod, error) {
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, errNotFoundPath()
	}
	return pod, nil
}

// checkHost refuses what only a node could answer, if there is none.
func (rq *request) checkHost(pod *corev1.Pod) error {
	switch {
	case pod.Spec.NodeName == "":
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	case rq.server.opts.Containers == nil:
		return apierrors.NewServiceUnavailable("this apiserver reaches no containers")
	}
	return nil
}

// chooseStreamed sets the container that is meant where the client named none: the only
// one. It refuses one that the pod does not have.
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

// textError is what a kubelet answers, which upstream's apiserver hands on as it is.
type textError struct {
	code int
	text string
}

func (e *textError) Error() string { return e.text }

// texts answers a kubelet's errors as they are.
func texts(verb verbFunc) verbFunc {
	return func(ctx context.Context, rq *request) error {
		err := verb(ctx, rq)
		var text *textError
		if errors.As(err, &text) {
			http.Error(rq.w, text.text, text.code)
			return nil
		}
		return err
	}
}

func kubeletError(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return &textError{code: http.StatusInternalServerError, text: err.Error()}
}

// connect upgrades the connection and serves it until its end, or the server's.
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

// hijackable is the writer beneath others that can give its connection away.
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
