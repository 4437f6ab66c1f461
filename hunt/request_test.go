package hunt

import (
	"net/http"
	"strings"
	"testing"
)

// What a client writes to elect its leader is no write at which disturbances happen.
func TestElections(t *testing.T) {
	t.Parallel()
	const lock = `{"metadata": {"name": "a", "annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}}`
	for name, test := range map[string]struct {
		method, path, body string
		want               bool
	}{
		"a lock":              {"PUT", "/api/v1/namespaces/default/configmaps/a", lock, false},
		"a new lock":          {"POST", "/api/v1/namespaces/default/endpoints", lock, false},
		"a lease":             {"PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a", `{}`, false},
		"data":                {"PUT", "/api/v1/namespaces/default/configmaps/a", `{"metadata": {"name": "a"}, "data": {"leader": "b"}}`, true},
		"another kind":        {"PUT", "/api/v1/namespaces/default/secrets/a", lock, true},
		"a deletion":          {"DELETE", "/api/v1/namespaces/default/configmaps/a", "", true},
		"what cannot be read": {"PUT", "/api/v1/namespaces/default/configmaps/a", `{`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), test.method, "https://cluster"+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			a, ok := readRequest(req)
			if !ok || a.isPoint(req) != test.want {
				t.Errorf("it is a write: %v, want %v", !test.want, test.want)
			}
		})
	}
}
