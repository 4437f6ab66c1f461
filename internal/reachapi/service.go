package reachapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "reach"
	Path    = "/minikcm/v1/" + Feature
	// MatrixPath is where the connections between all workloads are served.
	MatrixPath = Path + "/matrix"
)

var resource = schema.GroupResource{Group: "minikcm.dev", Resource: Feature}

// Extension answers questions about connections.
func Extension() minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		return &service{cluster: cluster}, nil
	}}
}

type service struct {
	cluster  *minikcm.Cluster
	requests openrequests.Group
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, apierrors.NewServiceUnavailable("the cluster is closing"), minikcm.WriteError, s.serve)
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return openrequests.NotAllowed(w, r, resource, http.MethodGet)
	}
	switch r.URL.Path {
	case Path:
	case MatrixPath:
		return s.matrix(ctx, w, r)
	default:
		return apierrors.NewNotFound(resource, "")
	}
	query, err := openrequests.Parameters(r, "namespace", "toNamespace", "from", "to", "protocol", "port", "follow")
	if err != nil {
		return err
	}
	follow, err := openrequests.Boolean(query, "follow")
	if err != nil {
		return err
	}
	ask := &reach.Ask{Namespace: query.Get("namespace"), ToNamespace: query.Get("toNamespace"), From: query.Get("from"), To: query.Get("to"), Port: query.Get("port")}
	if ask.Protocol, err = reach.ParseProtocol(query.Get("protocol")); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if _, err := reach.ParsePort(ask.Port); err != nil {
		return apierrors.NewBadRequest("port: " + err.Error())
	}
	if follow {
		return s.follow(ctx, w, ask)
	}
	report, err := s.cluster.Kubelets().Reach(ctx, ask)
	if err != nil {
		return refusal(err)
	}
	openrequests.Answer(w, http.StatusOK, report)
	return nil
}

// matrix serves the connections between all workloads.
func (s *service) matrix(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	query, err := openrequests.Parameters(r, "namespaces", "by", "protocol", "port")
	if err != nil {
		return err
	}
	ask := &reach.MatrixAsk{Port: query.Get("port")}
	if names := query.Get("namespaces"); names != "" {
		ask.Namespaces = strings.Split(names, ",")
	}
	if ask.ByNamespace, err = reach.ParseMatrixBy(query.Get("by")); err != nil {
		return apierrors.NewBadRequest("by: " + err.Error())
	}
	if ask.Protocol, err = reach.ParseProtocol(query.Get("protocol")); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	m, err := s.cluster.Kubelets().ReachMatrix(ctx, ask)
	if err != nil {
		return refusal(err)
	}
	openrequests.Answer(w, http.StatusOK, m)
	return nil
}

// refusal returns the Status for a question that has no answer.
func refusal(err error) error {
	var invalid *reach.InvalidError
	var missing *reach.NotFoundError
	switch {
	case errors.As(err, &invalid):
		return apierrors.NewBadRequest(err.Error())
	case errors.As(err, &missing):
		status := apierrors.NewNotFound(resource, "")
		status.ErrStatus.Message = err.Error()
		return status
	}
	return err
}

// Close implements minikcm.ExtensionHandler.
func (s *service) Close() error {
	s.requests.Close()
	return nil
}

// request asks a running cluster.
func request(client rest.Interface, ask *reach.Ask) *rest.Request {
	r := client.Get().AbsPath(Path).SetHeader("Accept", "application/json").
		Param("namespace", ask.Namespace).Param("toNamespace", ask.ToNamespace).Param("from", ask.From).Param("to", ask.To).Param("protocol", string(ask.Protocol))
	if ask.Port != "" {
		r.Param("port", ask.Port)
	}
	return r
}

// Get asks a running cluster.
func Get(ctx context.Context, client rest.Interface, ask *reach.Ask) (*reach.Report, error) {
	return answer[reach.Report](request(client, ask).Do(ctx))
}

// GetMatrix asks a running cluster for the connections between all workloads.
func GetMatrix(ctx context.Context, client rest.Interface, ask *reach.MatrixAsk) (*reach.Matrix, error) {
	r := client.Get().AbsPath(MatrixPath).SetHeader("Accept", "application/json").
		Param("namespaces", strings.Join(ask.Namespaces, ",")).Param("by", ask.By()).Param("protocol", string(ask.Protocol))
	if ask.Port != "" {
		r.Param("port", ask.Port)
	}
	return answer[reach.Matrix](r.Do(ctx))
}

// answer reads the answer of the cluster.
func answer[T any](result rest.Result) (*T, error) {
	if err := result.Error(); err != nil { // the Status of the response, which Raw does not decode
		return nil, err
	}
	data, err := result.Raw()
	if err != nil {
		return nil, err
	}
	into := new(T)
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("reading the answer of the cluster: %w", err)
	}
	return into, nil
}
