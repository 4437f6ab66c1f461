package streaming

import (
	"context"
	"errors"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm/internal/network/secure"
)

// Kubelets connect clients to the containers of pods. The errors of upstream's kubelets are
// plain text: errors of OpenExec, OpenAttach and OpenPorts that are not apierrors are
// returned to the client as a 500 with their text, as by upstream's apiserver.
type Kubelets interface {
	// Dial connects to the kubelet of a node, and returns the error of a connection that is not established. Faults of the network
	// delay, lose and reset it. Time passes only if mayWait is set.
	Dial(ctx context.Context, node string, mayWait bool) error
	// OpenExec finds a running container of a scheduled pod. The returned function runs
	// the command until it exits or ctx ends; an error with an exit code
	// (utilexec.ExitError) is the command's own.
	OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (StreamFunc, error)
	// OpenAttach finds a running container. The returned function connects the streams
	// with its input and with its output from now on.
	OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (StreamFunc, error)
	// OpenPorts finds what listens on the ports of a scheduled pod.
	OpenPorts(pod *corev1.Pod) (PortFunc, error)
	// ReachPorts is OpenPorts for connections to the pod itself, which do not pass through its kubelet. of are the Services that they
	// are for. What faults of the network do is in the ports' Way.
	ReachPorts(pod *corev1.Pod, of ...types.NamespacedName) (PortFunc, error)
	// NodeHandler returns the handler of a node's kubelet; nil if the kubelet is
	// unreachable.
	NodeHandler(node string) http.Handler
	// OpenLog opens the log that opts select, of a scheduled pod and of the container
	// opts.Container, which exists. Its error, ideally one of apierrors, is returned to
	// the client as a Status; an error of write only ends the response. With
	// opts.Follow, write returns when the container has terminated or ctx has ended.
	OpenLog(pod *corev1.Pod, opts *corev1.PodLogOptions) (write func(ctx context.Context, w io.Writer) error, err error)
}

// StreamFunc serves the streams of one client. It returns when ctx ends, at the latest.
type StreamFunc = func(ctx context.Context, streams remotecommand.StreamOptions) error

// PortFunc returns what listens on a port of a pod; nil if nothing does.
type PortFunc = func(port int32) *secure.Port

// dial connects to the kubelet of a node. The work that ctx belongs to is not in flight while it waits.
func (s *Server) dial(ctx context.Context, node string) error {
	return s.opts.Kubelets.Dial(ctx, node, s.opts.MayWait == nil || s.opts.MayWait(ctx))
}

// textError is a kubelet's plain-text error, which upstream's apiserver passes on
// unchanged.
type textError struct {
	code int
	text string
}

func (e *textError) Error() string { return e.text }

// texts calls serve and sends its textError, if it returns one, as plain text.
func texts(serve func(context.Context, *Request) error) func(context.Context, *Request) error {
	return func(ctx context.Context, rq *Request) error {
		err := serve(ctx, rq)
		var text *textError
		if errors.As(err, &text) {
			http.Error(rq.Writer, text.text, text.code)
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
