package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// exec runs a command in the container, as kubectl exec does.
func (r *runner) exec(ctx context.Context, pod *corev1.Pod, in io.Reader, out io.Writer, command ...string) error {
	var complaint bytes.Buffer
	request := r.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: r.container, Command: command, Stdin: in != nil, Stdout: out != nil, Stderr: true,
		}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(r.opts.Config, http.MethodGet, request.URL().String())
	if err != nil {
		return err
	}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &complaint})
	if err != nil {
		return fmt.Errorf("running %s in pod/%s: %w: %s", command[0], pod.Name, err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// variables returns the environment of the container.
func (r *runner) variables(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	var out bytes.Buffer
	if err := r.exec(ctx, pod, nil, &out, "env", "-0"); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00"), nil
}

// fetch writes the content of the container's volumes to the folder of files. With fromAPI, it
// updates the volumes that the kubelet updates.
func (r *runner) fetch(ctx context.Context, pod *corev1.Pod, fromAPI bool) error {
	container := containerOf(&corev1.PodTemplateSpec{Spec: pod.Spec}, r.container)
	if container == nil {
		return nil
	}
	paths := mountsOf(&pod.Spec, container, fromAPI)
	if len(paths) == 0 {
		return nil
	}
	read, write := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := r.exec(ctx, pod, nil, write, append([]string{"tar", "-cf", "-", "-C", "/"}, paths...)...)
		_ = write.CloseWithError(err)
		sent <- err
	}()
	kept, err := unpack(read, r.root())
	if err == nil {
		_, err = io.Copy(io.Discard, read) // what follows the archive's end
	}
	_ = read.CloseWithError(io.ErrClosedPipe)
	if sendErr := <-sent; sendErr != nil {
		return fmt.Errorf("reading the volumes: %w", sendErr)
	}
	if err != nil {
		return fmt.Errorf("writing the volumes to %s: %w", r.root(), err)
	}
	return prune(r.root(), mountsOf(&pod.Spec, container, true), kept)
}
