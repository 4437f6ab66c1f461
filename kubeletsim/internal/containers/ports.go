package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// Port returns the handler of a port of the pod; nil if no running container listens on it.
// responses.AnnotationHTTP declares the ports of each container.
func (rt *Runtime) Port(n *nodes.Node, e Pod, port int32) http.Handler {
	if !responses.Listens(answers(e), port) {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rt.serveHTTP(w, r, n, e, port) })
}

// Listens returns what listens at a port of the pod; nil if nothing does.
func Listens(e Pod, port int32, protocol corev1.Protocol) *reach.Listener {
	shown := e.See()
	return listeners.Of(shown.Pod, func(name string) bool { return shown.RunOf(name) != "" }, port, protocol)
}

// Answer answers a request at the end of a path to the pod: as the pod declares, or with a page that says which pod it is.
func (rt *Runtime) Answer(n *nodes.Node, e Pod, path *reach.Path, w http.ResponseWriter, r *http.Request) {
	if port := int32(path.Target.Port()); !path.Listener.Unknown {
		rt.serveHTTP(w, r, n, e, port)
		return
	}
	ServePage(path, w, r)
}

// ServePage answers a request at the end of a path to a server of which nothing is known: the page says which pod, image and node
// it is.
func ServePage(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	pod, image := path.Pod, ""
	for _, ref := range podspec.Containers(pod) {
		if ref.Name == path.Listener.Container {
			image = ref.Container.Image
		}
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = fmt.Fprintf(w, "pod: %s\nnamespace: %s\nnode: %s\nimage: %s\naddress: %s\nclient: %s\nrequest: %s %s\n",
		pod.Name, pod.Namespace, pod.Spec.NodeName, image, path.Target, client, r.Method, r.URL.RequestURI())
}

// answers returns the answers of the containers that run.
func answers(e Pod) []responses.HTTP {
	shown := e.See()
	var all []responses.HTTP
	for _, ref := range podspec.Containers(shown.Pod) {
		if shown.RunOf(ref.Name) == "" {
			continue
		}
		answers, _ := responses.HTTPOf(shown.Pod, ref.Name, ref.Kind)
		for i := range answers {
			answers[i].Container = ref.Name
			if strings.Contains(answers[i].Body, "$") {
				answers[i].Body, _ = podspec.KnownVariables(shown.Pod, ref.Container).Expand(answers[i].Body)
			}
		}
		all = append(all, answers...)
	}
	return all
}

func (rt *Runtime) serveHTTP(w http.ResponseWriter, r *http.Request, n *nodes.Node, e Pod, port int32) {
	a := responses.HTTPTo(answers(e), port, r.URL.Path)
	if a.Review != "" && r.Method == http.MethodPost {
		serveReview(w, r, a)
		return
	}
	text, open := strings.CutSuffix(a.Body, `\`)
	if !open && text != "" {
		text += "\n"
	}
	body := []byte(text)
	if a.Root != "" {
		in, err := rt.Running(n, e, a.Container)
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

// maxReviewBytes limits an AdmissionReview: two objects of the size of a request.
const maxReviewBytes = 8 << 20

// serveReview answers an AdmissionReview, of any version.
func serveReview(w http.ResponseWriter, r *http.Request, a responses.HTTP) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReviewBytes)).Decode(&review)
	if err != nil || review.Kind != "AdmissionReview" || review.Request == nil {
		http.Error(w, "the body is no AdmissionReview with a request", http.StatusBadRequest)
		return
	}
	type object = map[string]any
	answer := object{"uid": review.Request.UID, "allowed": a.Review == responses.Allow}
	if a.Review == responses.Deny {
		answer["status"] = object{"code": http.StatusForbidden, "message": a.Body}
	}
	w.Header().Set("Content-Type", "application/json")
	// It fails only if the client is gone.
	_ = json.NewEncoder(w).Encode(object{"apiVersion": review.APIVersion, "kind": review.Kind, "response": answer})
}

// Running returns the reference to a running container.
func (rt *Runtime) Running(n *nodes.Node, e Pod, name string) (*Ref, error) {
	shown := e.See()
	id := shown.RunOf(name)
	for _, ref := range podspec.Containers(shown.Pod) {
		if ref.Name == name && id != "" {
			return &Ref{runtime: rt, node: n, entry: e, pod: shown.Pod, spec: ref.Container, id: id}, nil
		}
	}
	return nil, fmt.Errorf("container %s does not run any more", name)
}

// serveFile answers with one of the container's files, or a directory's index.html.
func (in *Ref) serveFile(ctx context.Context, a responses.HTTP, name string) (status int, body []byte, err error) {
	machine, release, err := in.runtime.machineFor(ctx, in)
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
