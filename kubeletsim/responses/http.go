package responses

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// AnnotationHTTP is what a container's processes answer to HTTP requests, one line an
// answer: a port, a path (or the beginning of one and *), a status code, and a body, in
// which $(NAME) is a variable of the container, and which ends without a line's end if
// its last character is a backslash. In place of a status code, files and a
// directory let it answer with the container's files.
// Ports that no line names refuse connections. Probes of a container that has the
// annotation follow from it.
const AnnotationHTTP = "minikcm.dev/http"

// HTTP is one line of AnnotationHTTP.
type HTTP struct {
	Port   int32
	Path   string
	prefix bool
	Status int
	Body   string
	// Root is the directory of the container's files that are served; empty: none are.
	Root string
	// Container is whose answer it is, where that matters.
	Container string
}

// maxPort is the highest port number.
const maxPort = 1<<16 - 1

func ParseHTTP(text string) ([]HTTP, error) {
	var answers []HTTP
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
		a := HTTP{Port: int32(number), Path: path, Status: code, Body: body, Root: root}
		if begin, ok := strings.CutSuffix(path, "*"); ok {
			a.Path, a.prefix = begin, true
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return nil, errors.New("it tells no answer")
	}
	return answers, nil
}

// HTTPOf reads the annotation for a container; ok is false if there is none.
func HTTPOf(pod *corev1.Pod, container string, kind podspec.Kind) (answers []HTTP, ok bool) {
	if len(pod.Annotations) == 0 {
		return nil, false
	}
	text, ok := podspec.Annotations{Pod: pod, Container: container, NamedOnly: kind != podspec.AppContainer}.Get(AnnotationHTTP)
	if !ok {
		return nil, false
	}
	answers, err := ParseHTTP(text)
	return answers, err == nil
}

// Listens is whether any answer is for the port.
func Listens(answers []HTTP, port int32) bool {
	for i := range answers {
		if answers[i].Port == port {
			return true
		}
	}
	return false
}

// HTTPTo is the answer to a request: the one for that very path, or else the one for
// the longest beginning of it. Without any, it is 404.
func HTTPTo(answers []HTTP, port int32, path string) HTTP {
	best := HTTP{Status: http.StatusNotFound, Body: "404 page not found"}
	length := -1
	for _, a := range answers {
		switch {
		case a.Port != port:
		case !a.prefix && a.Path == path:
			return a
		case a.prefix && strings.HasPrefix(path, a.Path) && len(a.Path) > length:
			best, length = a, len(a.Path)
		}
	}
	return best
}

// PortNumber is the number of a port that may be named by the container.
func PortNumber(c *corev1.Container, port intstr.IntOrString) int32 {
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
