package streaming

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

// Log serves GET on the log of a pod, as plain text or over a WebSocket.
func (s *Server) Log(ctx context.Context, rq *Request) error {
	opts, err := rq.logOptions(s.opts.SplitLogs)
	if err != nil {
		return err
	}
	pod, err := s.pod(ctx, rq.Namespace, rq.Name)
	if err != nil {
		return err
	}
	if err := chooseContainer(pod, opts); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		rq.Writer.WriteHeader(http.StatusNoContent) // as upstream answers for a pod without a node
		return nil
	}
	peer, err := s.peer(ctx, rq, pod.Spec.NodeName)
	switch {
	case err != nil:
		return err
	case peer != nil:
		return s.passOn(ctx, rq, peer, rq.HTTP.URL.Path, rq.Query, func(err error) error { return apierrors.NewInternalError(err) })
	}
	if s.opts.Kubelets == nil {
		return apierrors.NewServiceUnavailable("this apiserver knows no containers' logs")
	}
	if err := s.dial(ctx, pod.Spec.NodeName); err != nil {
		return s.unread(ctx, pod, opts, err)
	}
	write, err := s.opts.Kubelets.OpenLog(pod, opts)
	if err != nil {
		return err
	}
	if wsstream.IsWebSocketRequest(rq.HTTP) {
		return s.logBySocket(ctx, rq, write)
	}
	header := rq.Writer.Header()
	header.Set("Content-Type", "text/plain")
	header.Set("Cache-Control", "no-cache, private")
	rq.Writer.WriteHeader(http.StatusOK)
	if !opts.Follow {
		// The response has begun, so an error can only truncate it.
		_ = write(ctx, rq.Writer)
		return nil
	}
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	out := slowclient.NewStream(ctx, rq.Writer)
	defer out.End()
	if _, err := out.Write(nil); err == nil { // sends the header
		_ = write(ctx, out)
	}
	return nil
}

// unread returns the error for a log whose kubelet cannot be reached: the text of upstream's HTTP client.
func (s *Server) unread(ctx context.Context, pod *corev1.Pod, opts *corev1.PodLogOptions, why error) error {
	to, err := s.nodeAddress(ctx, pod.Spec.NodeName, "")
	if err != nil {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: fmt.Sprintf("Get \"https://%s/containerLogs/%s/%s/%s\": %v", to, pod.Namespace, pod.Name, opts.Container, why),
	}}
}

func (rq *Request) logOptions(split bool) (*corev1.PodLogOptions, error) {
	opts := &corev1.PodLogOptions{}
	if err := readLogOptions(rq.Query, opts); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validateLogOptions(opts, split); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), rq.Name, errs)
	}
	return opts, nil
}

// readLogOptions decodes the options, for which k8s.io/api has no conversion.
func readLogOptions(query url.Values, opts *corev1.PodLogOptions) error {
	opts.Container = query.Get("container")
	for name, value := range map[string]*bool{"follow": &opts.Follow, "previous": &opts.Previous, "timestamps": &opts.Timestamps} {
		*value = resources.IsTrue(query, name)
	}
	for name, value := range map[string]**int64{"sinceSeconds": &opts.SinceSeconds, "tailLines": &opts.TailLines, "limitBytes": &opts.LimitBytes} {
		values := query[name]
		if len(values) == 0 {
			continue
		}
		if err := runtime.Convert_Slice_string_To_Pointer_int64(&values, value, nil); err != nil {
			return err
		}
	}
	if values := query["sinceTime"]; len(values) > 0 && values[0] != "" {
		opts.SinceTime = &metav1.Time{}
		if err := metav1.Convert_Slice_string_To_v1_Time(&values, opts.SinceTime, nil); err != nil {
			return err
		}
	}
	if values := query["stream"]; len(values) > 0 {
		opts.Stream = &values[0]
	}
	return nil
}

func validateLogOptions(opts *corev1.PodLogOptions, split bool) field.ErrorList {
	var errs field.ErrorList
	if n := opts.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := opts.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch n := opts.SinceSeconds; {
	case n != nil && opts.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case n != nil && *n < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *n, "must be greater than 0"))
	}
	switch stream := opts.Stream; {
	case stream != nil && !split:
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	case stream != nil:
		known := []string{corev1.LogStreamAll, corev1.LogStreamStdout, corev1.LogStreamStderr}
		switch *stream {
		case corev1.LogStreamAll:
		case corev1.LogStreamStdout, corev1.LogStreamStderr:
			if opts.TailLines != nil {
				errs = append(errs, field.Forbidden(field.NewPath(""), "`tailLines` and specific `stream` are mutually exclusive for now"))
			}
		default:
			errs = append(errs, field.NotSupported(field.NewPath("stream"), *stream, known))
		}
	}
	return errs
}

// chooseContainer sets the container if the client named none and the pod has only one beside its init
// and ephemeral containers, and rejects one that the pod does not have.
func chooseContainer(pod *corev1.Pod, opts *corev1.PodLogOptions) error {
	var names []string
	for i := range pod.Spec.InitContainers {
		names = append(names, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[i].Name)
	}
	switch {
	case opts.Container != "" && slices.Contains(names, opts.Container):
		return nil
	case opts.Container != "":
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", opts.Container, pod.Name))
	case len(pod.Spec.Containers) == 1:
		opts.Container = pod.Spec.Containers[0].Name
		return nil
	case len(pod.Spec.Containers) == 0:
		return apierrors.NewBadRequest("a container name must be specified for pod " + pod.Name)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
}
