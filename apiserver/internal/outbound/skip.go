package outbound

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Skip decides whether the calls of a Service are skipped, because it leads to simulated pods only. warning is
// a text for the API's client.
type Skip func(namespace, name string, port int32) (warning string, skip bool)

// wrap makes the calls of a Service that are skipped succeed.
func (s Skip) wrap(config *rest.Config, namespace, name string, port int) {
	if s == nil {
		return
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return skipping{next, func() (string, bool) { return s(namespace, name, int32(port)) }}
	})
}

// skipping answers the calls of a webhook that are skipped in its place: an admission webhook allows
// everything, and a conversion webhook changes the version only.
type skipping struct {
	next http.RoundTripper
	skip func() (warning string, skip bool)
}

// WrappedRoundTripper returns the transport that does the calls.
func (t skipping) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t skipping) RoundTrip(rq *http.Request) (*http.Response, error) {
	warning, skip := t.skip()
	if !skip {
		return t.next.RoundTrip(rq)
	}
	body, err := io.ReadAll(rq.Body)
	_ = rq.Body.Close()
	if err != nil {
		return nil, err
	}
	answer, err := allow(body, warning)
	if err != nil {
		return nil, fmt.Errorf("skipping a webhook: %w", err)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: rq,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}

// review has the fields of an AdmissionReview or a ConversionReview that allow reads.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    struct {
		UID               types.UID                    `json:"uid"`
		DesiredAPIVersion string                       `json:"desiredAPIVersion"`
		Objects           []map[string]json.RawMessage `json:"objects"`
	} `json:"request"`
}

// allow returns the answer to a review.
func allow(body []byte, warning string) ([]byte, error) {
	var asked review
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	response := map[string]any{"uid": asked.Request.UID}
	if strings.HasPrefix(asked.Kind, "Conversion") {
		version, err := json.Marshal(asked.Request.DesiredAPIVersion)
		if err != nil {
			return nil, err
		}
		for _, obj := range asked.Request.Objects {
			obj["apiVersion"] = version
		}
		response["convertedObjects"], response["result"] = asked.Request.Objects, map[string]string{"status": "Success"}
	} else {
		response["allowed"], response["warnings"] = true, []string{warning}
	}
	return json.Marshal(map[string]any{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": response})
}
