package outbound

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// A call that is skipped is answered in place of the webhook: an admission webhook allows the object, with a
// warning, and a conversion webhook changes its version only.
func TestSkip(t *testing.T) {
	skips := true
	config, err := Resolver{Skip: func(namespace, name string, port int32) (string, bool) {
		if namespace != "default" || name != "hook" || port != 443 {
			t.Errorf("asked for %s/%s:%d", namespace, name, port)
		}
		return "skipped", skips
	}}.ClientConfigForService("hook", "default", 443)
	if err != nil {
		t.Fatal(err)
	}
	reached := errors.New("the webhook is called")
	carrier := config.WrapTransport(failingTransport{reached})
	call := func(body string) (string, error) {
		rq, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hook.default.svc:443/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := carrier.RoundTrip(rq)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close() // read only
		data, err := io.ReadAll(answer.Body)
		return string(data), err
	}
	for body, want := range map[string]string{
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{}}}`:                                                                                 `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"u","warnings":["skipped"]}}`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v1","objects":[{"apiVersion":"g/v2","kind":"A","spec":{"a":1}}]}}`: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"convertedObjects":[{"apiVersion":"g/v1","kind":"A","spec":{"a":1}}],"result":{"status":"Success"},"uid":"u"}}`,
	} {
		if got, err := call(body); err != nil || got != want {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
	if _, err := call("{"); err == nil {
		t.Error("a review that cannot be read is answered")
	}
	skips = false
	if _, err := call("{}"); !errors.Is(err, reached) {
		t.Errorf("a call that is not skipped: %v", err)
	}
	plain := &rest.Config{}
	if Skip(nil).wrap(plain, "", "", 0); plain.WrapTransport != nil {
		t.Error("calls are wrapped without need")
	}
}

type failingTransport struct{ err error }

func (f failingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
