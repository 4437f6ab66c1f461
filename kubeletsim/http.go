package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/responses"
)

// OpenPorts returns the handlers of a running pod's ports; nil for a port without a listener.
// responses.AnnotationHTTP declares them for each running container.
func (k *Kubelets) OpenPorts(pod *corev1.Pod) (func(port int32) http.Handler, error) {
	n := k.nodes.Get(pod.Spec.NodeName)
	switch {
	case n == nil:
		return nil, k.notSimulated(pod.Spec.NodeName)
	case !n.Reachable():
		return nil, apierrors.NewInternalError(fmt.Errorf("error dialing backend: dial tcp %s:10250: connect: no route to host", n.Address))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	if shown := e.see(); shown.gone || !shown.state.Sandbox || shown.state.Ended {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	return func(port int32) http.Handler {
		if !e.listensOn(port) {
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.serveHTTP(w, r, n, e, port) })
	}, nil
}

// answers returns the answers of the containers that run.
func (e *podEntry) answers() []responses.HTTP {
	shown := e.see()
	var all []responses.HTTP
	for _, ref := range podspec.Containers(shown.pod) {
		if shown.runOf(ref.Name) == "" {
			continue
		}
		answers, _ := responses.HTTPOf(shown.pod, ref.Name, ref.Kind)
		for i := range answers {
			answers[i].Container = ref.Name
			if strings.Contains(answers[i].Body, "$") {
				answers[i].Body, _ = podspec.KnownVariables(shown.pod, ref.Container).Expand(answers[i].Body)
			}
		}
		all = append(all, answers...)
	}
	return all
}

func (e *podEntry) listensOn(port int32) bool { return responses.Listens(e.answers(), port) }

func (k *Kubelets) serveHTTP(w http.ResponseWriter, r *http.Request, n *nodes.Node, e *podEntry, port int32) {
	a := responses.HTTPTo(e.answers(), port, r.URL.Path)
	text, open := strings.CutSuffix(a.Body, `\`)
	if !open && text != "" {
		text += "\n"
	}
	body := []byte(text)
	if a.Root != "" {
		in, err := k.containerRefOf(n, e, a.Container)
		if err == nil {
			a.Status, body, err = in.serveFile(r.Context(), a, r.URL.Path)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if a.Root == "" || a.Status >= http.StatusBadRequest {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// containerRefOf returns the reference to a running container.
func (k *Kubelets) containerRefOf(n *nodes.Node, e *podEntry, name string) (*containerRef, error) {
	shown := e.see()
	id := shown.runOf(name)
	for _, ref := range podspec.Containers(shown.pod) {
		if ref.Name == name && id != "" {
			return &containerRef{kubelets: k, node: n, entry: e, pod: shown.pod, spec: ref.Container, id: id}, nil
		}
	}
	return nil, fmt.Errorf("container %s does not run any more", name)
}

// serveFile answers with one of the container's files, or a directory's index.html.
func (in *containerRef) serveFile(ctx context.Context, a responses.HTTP, name string) (status int, body []byte, err error) {
	machine, release, err := in.kubelets.machineFor(ctx, in)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	file := a.Root + path.Clean("/"+strings.TrimPrefix(name, a.Path))
	body, err = machine.Files.ReadFile(file)
	if errors.Is(err, syscall.EISDIR) {
		body, err = machine.Files.ReadFile(file + "/index.html")
	}
	if err != nil {
		return http.StatusNotFound, []byte("404 page not found\n"), nil // it is the answer
	}
	return http.StatusOK, body, nil
}
