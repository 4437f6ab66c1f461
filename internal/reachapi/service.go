package reachapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	query, err := openrequests.Parameters(r, "namespace", "toNamespace", "from", "to", "protocol")
	if err != nil {
		return err
	}
	ask := &reach.Ask{Namespace: query.Get("namespace"), ToNamespace: query.Get("toNamespace"), From: query.Get("from"), To: query.Get("to")}
	if ask.Protocol, err = Protocol(query.Get("protocol")); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	report, err := s.cluster.Kubelets().Reach(ctx, ask)
	var invalid *reach.InvalidError
	var missing *reach.NotFoundError
	switch {
	case errors.As(err, &invalid):
		return apierrors.NewBadRequest(err.Error())
	case errors.As(err, &missing):
		status := apierrors.NewNotFound(resource, "")
		status.ErrStatus.Message = err.Error()
		return status
	case err != nil:
		return err
	}
	openrequests.Answer(w, http.StatusOK, report)
	return nil
}

// Close implements minikcm.ExtensionHandler.
func (s *service) Close() error {
	s.requests.Close()
	return nil
}

// Protocol reads the name of a protocol; empty is TCP.
func Protocol(text string) (corev1.Protocol, error) {
	switch p := corev1.Protocol(strings.ToUpper(text)); p {
	case "":
		return corev1.ProtocolTCP, nil
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return p, nil
	}
	return "", fmt.Errorf("%q is none of the protocols TCP, UDP and SCTP", text)
}

// Get asks a running cluster.
func Get(ctx context.Context, client rest.Interface, ask *reach.Ask) (*reach.Report, error) {
	result := client.Get().AbsPath(Path).SetHeader("Accept", "application/json").
		Param("namespace", ask.Namespace).Param("toNamespace", ask.ToNamespace).Param("from", ask.From).Param("to", ask.To).Param("protocol", string(ask.Protocol)).Do(ctx)
	if err := result.Error(); err != nil { // the Status of the response, which Raw does not decode
		return nil, err
	}
	data, err := result.Raw()
	if err != nil {
		return nil, err
	}
	report := &reach.Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return nil, fmt.Errorf("reading the answer of the cluster: %w", err)
	}
	return report, nil
}
