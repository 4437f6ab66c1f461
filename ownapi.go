package minikcm

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// ownPath is the root of the paths that only minikcm serves. GET returns an Info.
	ownPath = "/minikcm/v1"
	// openAPIPath serves the OpenAPI document of these paths.
	openAPIPath = ownPath + "/openapi.json"
	// controllersPath serves the states of the cluster's controllers.
	controllersPath = ownPath + "/controllers"
	// whyPath serves explanations of objects.
	whyPath = ownPath + "/why"
)

// ownAPI serves the paths beneath ownPath that the apiserver does not. The server is made before the
// cluster, and reaches it here.
type ownAPI struct{ cluster atomic.Pointer[Cluster] }

func (a *ownAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := a.cluster.Load(); c != nil {
		c.serveOwn(w, r)
		return
	}
	WriteError(w, errStarting)
}

var errStarting = apierrors.NewServiceUnavailable("the cluster is starting: try again in a moment")

// serveOwn serves the paths beneath /minikcm/v1 that the apiserver does not: an Info at
// /minikcm/v1, its OpenAPI document at /openapi.json, the states of the controllers as a JSON
// array at /controllers, the debug information of a controller at /controllers/NAME/debug, and
// explanations at /why. Extensions serve the rest.
func (c *Cluster) serveOwn(w http.ResponseWriter, r *http.Request) {
	if c.serveExtension(w, r) {
		return
	}
	if r.Method != http.MethodGet {
		http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case ownPath:
		c.serveInfo(w)
		return
	case openAPIPath:
		serveOpenAPI(w)
		return
	case whyPath:
		c.serveWhy(w, r)
		return
	}
	m := c.Manager()
	if m == nil {
		http.Error(w, "the controllers have not started yet", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == controllersPath {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m.Status()) // fails only if the client is gone
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, controllersPath+"/"), "/")
	if rest == "debug" && strings.HasPrefix(r.URL.Path, controllersPath+"/") {
		if handler := m.Debug(name); handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

func (c *Cluster) serveInfo(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c.Info()) // fails only if the client is gone
}

// serveWhy serves GET /minikcm/v1/why?resource=pods&namespace=default&name=web: an
// Explanation in JSON. The parameters group and kind select further. The response is 404
// for an object that Why does not find.
func (c *Cluster) serveWhy(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	q := Query{
		Group: query.Get("group"), Resource: query.Get("resource"), Kind: query.Get("kind"),
		Namespace: query.Get("namespace"), Name: query.Get("name"),
	}
	if q.Name == "" || q.Resource == "" && q.Kind == "" {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, q, "name, and one of resource and kind, must be given: they say what to explain")
		return
	}
	explanation, err := c.Why(r.Context(), q)
	var never *NeverWrittenError
	switch {
	case errors.As(err, &never):
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, q, err.Error())
	case err != nil:
		answerStatus(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, q, err.Error())
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(explanation) // fails only if the client is gone
	}
}

// answerStatus responds with a Status, which every client can print.
func answerStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, q Query, message string) {
	writeStatus(w, &metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Group: q.Group, Kind: q.Resource, Name: q.Name},
	})
}

func writeStatus(w http.ResponseWriter, status *metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // fails only if the client is gone
}

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI returns the OpenAPI 3 document, in JSON, of what "minikcm up" serves beneath
// /minikcm/v1. Another cluster serves what its Info lists.
var OpenAPI = sync.OnceValues(func() ([]byte, error) {
	data, err := yaml.YAMLToJSON(openAPIYAML)
	if err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	return data, nil
})

func serveOpenAPI(w http.ResponseWriter) {
	data, err := OpenAPI()
	if err != nil {
		WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // fails only if the client is gone
}
