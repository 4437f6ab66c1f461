package hunt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/streaming/pkg/httpstream"

	"minikcm.dev/minikcm/internal/envelope"
)

// resolver parses method and URL as API servers do.
var resolver = &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// writing are the verbs that change objects.
var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

// unnoticed are resources whose writes are no points: they say what an operator does, and nothing follows from them.
var unnoticed = []string{"events", "events.events.k8s.io", "leases.coordination.k8s.io"}

// asked is a request of the operator.
type asked struct {
	*apirequest.RequestInfo
	// resource is written as in a Point, without the subresource in collection.
	resource, collection string
}

// readRequest parses a request. ok is false if it is for no resource.
func readRequest(req *http.Request) (a asked, ok bool) {
	info, err := resolver.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return asked{}, false
	}
	a = asked{RequestInfo: info, collection: info.Resource}
	if info.APIGroup != "" {
		a.collection += "." + info.APIGroup
	}
	a.resource = a.collection
	if info.Subresource != "" {
		a.resource += "/" + info.Subresource
	}
	return a, true
}

// isPoint reports whether the request is a write at which disturbances happen.
func (a *asked) isPoint(req *http.Request) bool {
	return slices.Contains(writing, a.Verb) && !slices.Contains(unnoticed, a.collection) && !req.URL.Query().Has("dryRun") && a.Subresource != "token" &&
		!httpstream.IsUpgradeRequest(req) && !a.elects(req)
}

// elects reports whether the request writes a lock of an election of leaders as client-go had them before Leases.
func (a *asked) elects(req *http.Request) bool {
	if a.collection != "configmaps" && a.collection != "endpoints" || a.Verb != "create" && a.Verb != "update" {
		return false
	}
	meta, err := bodyMeta(req)
	return err == nil && meta.Annotations[resourcelock.LeaderElectionRecordAnnotationKey] != ""
}

// point returns the point of a write, without its number.
func (a *asked) point(req *http.Request) (Point, error) {
	p := Point{Verb: a.Verb, Resource: a.resource, Namespace: a.Namespace, Name: a.Name}
	if p.Name == "" && a.Verb == "create" {
		meta, err := bodyMeta(req)
		if err != nil {
			return p, err
		}
		p.Name = nameOf(meta)
	}
	if p.Name == "" {
		p.Name = "*"
	}
	return p, nil
}

// nameOf returns an object's name as it is the same in all runs.
func nameOf(m *metav1.ObjectMeta) string {
	if m.Name == "" && m.GenerateName != "" {
		return m.GenerateName + "*"
	}
	same, _ := chosen(m.Name, m.GenerateName)
	return same
}

// bodyMeta returns the metadata of the object in a request's body, in JSON or protobuf.
func bodyMeta(req *http.Request) (*metav1.ObjectMeta, error) {
	if req.Body == nil {
		return &metav1.ObjectMeta{}, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var object metav1.PartialObjectMetadata
	media, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if media == runtime.ContentTypeProtobuf {
		_, message, err := envelope.Open(body)
		if err != nil {
			return nil, fmt.Errorf("reading the body of %s %s: %w", req.Method, req.URL.Path, err)
		}
		// The metadata is the first field of every kind.
		if err := object.Unmarshal(message); err != nil {
			return nil, fmt.Errorf("reading the object of %s %s: %w", req.Method, req.URL.Path, err)
		}
		return &object.ObjectMeta, nil
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("reading the body of %s %s: %w", req.Method, req.URL.Path, err)
	}
	return &object.ObjectMeta, nil
}

// statusResponse is an answer that the API server did not give.
func statusResponse(req *http.Request, err *apierrors.StatusError) *http.Response {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, _ := json.Marshal(status) // a Status always marshals
	return &http.Response{
		StatusCode: int(status.Code), Status: fmt.Sprintf("%d %s", status.Code, http.StatusText(int(status.Code))), Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// derived matches names that end in a UID or in a SHA-256 sum, such as the names of provisioned volumes and of their attachments. Both
// differ from run to run.
var derived = regexp.MustCompile(`^(.+-)(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$`)

// chosen returns the name that an object has in all runs, if a run has chosen its name: the beginning and an asterisk.
func chosen(name, generateName string) (same string, ok bool) {
	if generateName != "" && strings.HasPrefix(name, generateName) {
		return generateName + "*", true
	}
	if m := derived.FindStringSubmatch(name); m != nil {
		return m[1] + "*", true
	}
	return name, false
}
