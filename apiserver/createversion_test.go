package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// TestCreateWithResourceVersion creates objects with a resourceVersion. The store
// rejects them, after all other checks; a dry run does not reach the store.
func TestCreateWithResourceVersion(t *testing.T) {
	const (
		maps = "/api/v1/namespaces/default/configmaps"
		set  = "resourceVersion should not be set on objects to be created"
	)
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		newCustoms(t, h, cfg).define(widgetDefinition)
		h.mustSend("POST", maps, `{"metadata":{"name":"there"}}`)
		const custom = "/apis/example.com/v1/namespaces/default/widgets"
		widget := func(size string) string {
			return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":"5"},"spec":{"size":` + size + `}}`
		}
		for _, test := range []struct {
			name, path, body string
			code             int32
			reason           metav1.StatusReason
			text             string
			// version is the resourceVersion of a successful response; "?" matches any.
			version string
		}{
			{name: "set", path: maps, body: `{"metadata":{"name":"a","resourceVersion":"5"}}`, code: 500, text: set},
			{name: "generated name", path: maps, body: `{"metadata":{"generateName":"a-","resourceVersion":"5"}}`, code: 500, text: set},
			{name: "invalid", path: maps, body: `{"metadata":{"name":"A","resourceVersion":"5"}}`, code: 422, reason: metav1.StatusReasonInvalid, text: "metadata.name: Invalid value"},
			{name: "no namespace", path: "/api/v1/namespaces/none/configmaps", body: `{"metadata":{"name":"a","resourceVersion":"5"}}`, code: 404, reason: metav1.StatusReasonNotFound, text: `namespaces "none" not found`},
			{name: "existing", path: maps, body: `{"metadata":{"name":"there","resourceVersion":"5"}}`, code: 500, text: set},
			{name: "zero", path: maps, body: `{"metadata":{"name":"zero","resourceVersion":"0"}}`, code: 201, version: "?"},
			{name: "no number", path: maps, body: `{"metadata":{"name":"abc","resourceVersion":"abc"}}`, code: 201, version: "?"},
			{name: "dry run", path: maps + "?dryRun=All", body: `{"metadata":{"name":"a","resourceVersion":"5"}}`, code: 201, version: "5"},
			{name: "dry run of an invalid one", path: maps + "?dryRun=All", body: `{"metadata":{"name":"A","resourceVersion":"5"}}`, code: 422, reason: metav1.StatusReasonInvalid, text: "metadata.name: Invalid value"},
			{name: "dry run of an existing one", path: maps + "?dryRun=All", body: `{"metadata":{"name":"there","resourceVersion":"5"}}`, code: 409, reason: metav1.StatusReasonAlreadyExists, text: `configmaps "there" already exists`},
			{name: "custom", path: custom, body: widget("1"), code: 500, text: set},
			{name: "custom and invalid", path: custom, body: widget("0"), code: 422, reason: metav1.StatusReasonInvalid, text: "spec.size"},
			{name: "custom dry run", path: custom + "?dryRun=All", body: widget("1"), code: 201, version: "5"},
			{name: "definition", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: strings.Replace(asJSON(t, parseDefinition(t, gateDefinition)), `"metadata":{`, `"metadata":{"resourceVersion":"5",`, 1), code: 500, text: set},
		} {
			t.Run(test.name, func(t *testing.T) {
				r := h.raw(cfg, "POST", test.path, test.body, "Content-Type", "application/json")
				if test.version == "" {
					wantReply(t, r, test.code, test.reason, test.text)
					return
				}
				made := &unstructured.Unstructured{}
				r.into(t, &made.Object)
				if got := made.GetResourceVersion(); r.code != int(test.code) || got != test.version && test.version != "?" || got == "abc" || got == "0" {
					t.Errorf("want %d and resourceVersion %s, got %d %s", test.code, test.version, r.code, r.body)
				}
			})
		}
		if r := h.send("GET", gatesPath, ""); r.code != 404 {
			t.Errorf("a definition that was not stored is served: %d", r.code)
		}
	})
}

// TestCreateWithResourceVersionReservesNothing checks that the reservations of a Service
// are released when the store rejects it.
func TestCreateWithResourceVersionReservesNothing(t *testing.T) {
	h := start(t)
	services := h.client().CoreV1().Services("default")
	wanted := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.77", Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := services.Create(h.ctx, wanted, metav1.CreateOptions{})
	wantStatus(t, err, 500, "", "resourceVersion should not be set")
	wanted.ResourceVersion = ""
	must(services.Create(h.ctx, wanted, metav1.CreateOptions{}))(t)
}
