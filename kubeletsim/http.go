package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AnnotationHTTP is what a container's processes answer to HTTP requests, one line an
// answer: a port, a path (or the beginning of one and *), a status code, and a body, in
// which $(NAME) is a variable of the container, and which ends without a line's end if
// its last character is a backslash. In place of a status code, files and a
// directory let it answer with the container's files.
// Ports that no line names refuse connections. Probes of a container that has the
// annotation follow from it.
const AnnotationHTTP = "minikcm.dev/http"

// httpAnswer is one line of AnnotationHTTP.
type httpAnswer struct {
	port   int32
	path   string
	prefix bool
	status int
	body   string
	// root is the directory of the container's files that are served; empty: none are.
	root string
	// container is whose answer it is, where that matters.
	container string
}

// maxPort is the highest port number.
const maxPort = 1<<16 - 1

func parseHTTP(text string) ([]httpAnswer, error) {
	var answers []httpAnswer
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		port, rest, _ := strings.Cut(line, " ")
		path, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		status, body, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		number, errPort := strconv.ParseInt(port, 10, 32)
		code, errCode := strconv.Atoi(status)
		root := ""
		if status == "files" && strings.HasPrefix(body, "/") {
			code, errCode, root, body = http.StatusOK, nil, strings.TrimSpace(body), ""
		}
		switch {
		case errPort != nil || number < 1 || number > maxPort:
			return nil, fmt.Errorf("%q does not begin with a port", line)
		case !strings.HasPrefix(path, "/") && path != "*":
			return nil, fmt.Errorf("%q has no path such as / or /api/*", line)
		case errCode != nil || code < 200 || code > 599:
			return nil, fmt.Errorf("%q has neither a status code from 200 to 599 nor files and a directory", line)
		}
		a := httpAnswer{port: int32(number), path: path, status: code, body: body, root: root}
		if begin, ok := strings.CutSuffix(path, "*"); ok {
			a.path, a.prefix = begin, true
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return nil, errors.New("it tells no answer")
	}
	return answers, nil
}

// httpOf reads the annotation for a container; ok is false if there is none.
func httpOf(pod *corev1.Pod, container string, kind containerKind) (answers []httpAnswer, ok bool) {
	if len(pod.Annotations) == 0 {
		return nil, false
	}
	text, ok := annotations{pod: pod, container: container, own: kind != appContainer}.get(AnnotationHTTP)
	if !ok {
		return nil, false
	}
	answers, err := parseHTTP(text)
	return answers, err == nil
}

// listens is whether any answer is for the port.
func listens(answers []httpAnswer, port int32) bool {
	for i := range answers {
		if answers[i].port == port {
			return true
		}
	}
	return false
}

// answerTo is the answer to a request: the one for that very path, or else the one for
// the longest beginning of it. Without any, it is 404.
func answerTo(answers []httpAnswer, port int32, path string) httpAnswer {
	best := httpAnswer{status: http.StatusNotFound, body: "404 page not found"}
	length := -1
	for _, a := range answers {
		switch {
		case a.port != port:
		case !a.prefix && a.path == path:
			return a
		case a.prefix && strings.HasPrefix(path, a.path) && len(a.path) > length:
			best, length = a, len(a.path)
		}
	}
	return best
}

// OpenPorts finds what listens on the ports of a running pod, as AnnotationHTTP tells of
// its containers that run.
func (k *Kubelet) OpenPorts(pod *corev1.Pod) (func(port int32) http.Handler, error) {
	n := k.nodes.get(pod.Spec.NodeName)
	switch {
	case n == nil:
		return nil, apierrors.NewInternalError(fmt.Errorf("node %s is not a simulated one", pod.Spec.NodeName))
	case !n.reachable():
		return nil, apierrors.NewInternalError(fmt.Errorf("error dialing backend: dial tcp %s:10250: connect: no route to host", n.address))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	if shown := e.see(); shown.gone || !shown.state.sandbox || shown.state.ended {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	return func(port int32) http.Handler {
		if !e.listensOn(port) {
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.serveHTTP(w, r, n, e, port) })
	}, nil
}

// answers are those of the containers that run.
func (e *podEntry) answers() []httpAnswer {
	shown := e.see()
	var all []httpAnswer
	for _, ref := range containersOf(shown.pod) {
		if shown.runOf(ref.Name) == "" {
			continue
		}
		answers, _ := httpOf(shown.pod, ref.Name, ref.kind)
		for i := range answers {
			answers[i].container = ref.Name
			if strings.Contains(answers[i].body, "$") {
				answers[i].body, _ = knownEnv(shown.pod, ref.Container).expand(answers[i].body)
			}
		}
		all = append(all, answers...)
	}
	return all
}

func (e *podEntry) listensOn(port int32) bool { return listens(e.answers(), port) }

func (k *Kubelet) serveHTTP(w http.ResponseWriter, r *http.Request, n *node, e *podEntry, port int32) {
	a := answerTo(e.answers(), port, r.URL.Path)
	text, open := strings.CutSuffix(a.body, `\`)
	if !open && text != "" {
		text += "\n"
	}
	body := []byte(text)
	if a.root != "" {
		in, err := k.placeOf(n, e, a.container)
		if err == nil {
			a.status, body, err = in.serveFile(r.Context(), a, r.URL.Path)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if a.root == "" || a.status >= http.StatusBadRequest {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// placeOf is a container that runs.
func (k *Kubelet) placeOf(n *node, e *podEntry, name string) (*place, error) {
	shown := e.see()
	id := shown.runOf(name)
	for _, ref := range containersOf(shown.pod) {
		if ref.Name == name && id != "" {
			return &place{kubelet: k, node: n, entry: e, pod: shown.pod, spec: ref.Container, id: id}, nil
		}
	}
	return nil, fmt.Errorf("container %s does not run any more", name)
}

// serveFile answers with one of the container's files, or a directory's index.html.
func (in *place) serveFile(ctx context.Context, a httpAnswer, name string) (status int, body []byte, err error) {
	machine, release, err := in.kubelet.machineFor(ctx, in)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	file := a.root + path.Clean("/"+strings.TrimPrefix(name, a.path))
	body, err = machine.Files.ReadFile(file)
	if errors.Is(err, syscall.EISDIR) {
		body, err = machine.Files.ReadFile(file + "/index.html")
	}
	if err != nil {
		return http.StatusNotFound, []byte("404 page not found\n"), nil // it is the answer
	}
	return http.StatusOK, body, nil
}

// portNumber is the number of a port that may be named by the container.
func portNumber(c *corev1.Container, port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for i := range c.Ports {
		if c.Ports[i].Name == port.StrVal {
			return c.Ports[i].ContainerPort
		}
	}
	return 0
}
