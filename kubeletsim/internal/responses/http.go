package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/podspec"
)

// AnnotationHTTP declares how a container answers HTTP requests, one answer a line: a port, a
// path (or a prefix and *), a status code and a body. In the body, $(NAME) is a variable of the
// container, and a backslash at the end suppresses the final line break. The word "files" and a
// directory in place of a status code serve the container's files. The words "allow", "deny" and "patch"
// in place of a status code answer AdmissionReviews, "deny" with the body as its message and "patch" with
// it as its JSON patch, and "convert" answers ConversionReviews. Ports that no
// line names refuse connections. A line with the word "tls" in place of the path and two of the
// container's files, a certificate and its key, lets the port serve TLS. Probes of the container get
// these answers too.
const AnnotationHTTP = "minikcm.dev/http"

// HTTP is one line of AnnotationHTTP.
type HTTP struct {
	Port   int32
	Path   string
	prefix bool
	Status int
	Body   string
	// Review answers the API server's reviews: Allow, Deny with Body as its message, Patch with Body as
	// its patch, or Convert; empty: they get Status and Body.
	Review Review
	// Root is the directory whose files are served; empty if none are.
	Root string
	// TLS are the files with which the port serves TLS. Such a line has no answer.
	TLS *Files
}

// Files are the names of files with a certificate and its key.
type Files struct{ Certificate, Key string }

// Review is an answer to an AdmissionReview or, of Convert, to a ConversionReview.
type Review string

// The answers to reviews.
const (
	Allow   Review = "allow"
	Deny    Review = "deny"
	Patch   Review = "patch"
	Convert Review = "convert"
)

// known reports whether there is such an answer.
func (r Review) known() bool { return r == Allow || r == Deny || r == Patch || r == Convert }

// parsePatch returns an error if the body of an answer is no JSON patch.
func parsePatch(line, body string) error {
	var operations []struct{ Op, Path string }
	if err := json.Unmarshal([]byte(body), &operations); err != nil {
		return fmt.Errorf("%q has no JSON patch, such as [{\"op\":\"add\",\"path\":\"/metadata/labels/a\",\"value\":\"b\"}]: %w", line, err)
	}
	return nil
}

// Status codes of HTTP.
const (
	statusOK         = 200
	statusBadRequest = 400
	statusNotFound   = 404
)

// NotTLS is the status of the answer to a request without TLS on a port that serves TLS.
const NotTLS = statusBadRequest

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
		if path == tlsWord && errPort == nil && number >= 1 && number <= maxPort {
			files, err := parseFiles(line, rest)
			if err != nil {
				return nil, err
			}
			answers = append(answers, HTTP{Port: int32(number), TLS: files})
			continue
		}
		code, errCode := strconv.Atoi(status)
		root := ""
		if status == "files" && strings.HasPrefix(body, "/") {
			code, errCode, root, body = statusOK, nil, strings.TrimSpace(body), ""
		}
		review := Review(status)
		if review == Patch {
			if err := parsePatch(line, body); err != nil {
				return nil, err
			}
		}
		if review.known() {
			code, errCode = statusOK, nil
		} else {
			review = ""
		}
		switch {
		case errPort != nil || number < 1 || number > maxPort:
			return nil, fmt.Errorf("%q does not begin with a port", line)
		case !strings.HasPrefix(path, "/") && path != "*":
			return nil, fmt.Errorf("%q has no path such as / or /api/*", line)
		case errCode != nil || code < 200 || code > 599:
			return nil, fmt.Errorf("%q has neither a status code from 200 to 599 nor files and a directory, allow, deny, patch or convert", line)
		}
		a := HTTP{Port: int32(number), Path: path, Status: code, Body: body, Root: root, Review: review}
		if begin, ok := strings.CutSuffix(path, "*"); ok {
			a.Path, a.prefix = begin, true
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return nil, errors.New("it declares no answer")
	}
	return answers, nil
}

// tlsWord begins the rest of a line that lets a port serve TLS.
const tlsWord = "tls"

// parseFiles reads the files of a line that lets a port serve TLS.
func parseFiles(line, rest string) (*Files, error) {
	names := strings.Fields(rest)
	if len(names) != 2 || !strings.HasPrefix(names[0], "/") || !strings.HasPrefix(names[1], "/") {
		return nil, fmt.Errorf("%q does not name two files, a certificate and its key, such as 8443 tls /certs/tls.crt /certs/tls.key", line)
	}
	return &Files{Certificate: names[0], Key: names[1]}, nil
}

// TLSOf returns the files with which a port serves TLS; nil: it does not.
func TLSOf(answers []HTTP, port int32) *Files {
	for i := range answers {
		if answers[i].Port == port && answers[i].TLS != nil {
			return answers[i].TLS
		}
	}
	return nil
}

// HTTPOf parses the annotation for a container; ok is false if there is none or it is invalid.
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

// Listens reports whether any answer is for the port.
func Listens(answers []HTTP, port int32) bool {
	for i := range answers {
		if answers[i].Port == port {
			return true
		}
	}
	return false
}

// HTTPTo returns the answer to a request: the one with that exact path, else the one with the
// longest matching prefix, else 404.
func HTTPTo(answers []HTTP, port int32, path string) HTTP {
	best := HTTP{Status: statusNotFound, Body: "404 page not found"}
	length := -1
	for _, a := range answers {
		switch {
		case a.Port != port, a.TLS != nil:
		case !a.prefix && a.Path == path:
			return a
		case a.prefix && strings.HasPrefix(path, a.Path) && len(a.Path) > length:
			best, length = a, len(a.Path)
		}
	}
	return best
}

// PortNumber resolves a port that may be the name of a container port; 0 if there is none of
// that name.
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
