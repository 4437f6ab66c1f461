package minikcmtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// gardenWebhooks plants roses by default, refuses weeds, and converts by changing the version.
func gardenWebhooks(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	review := func(decide func(flower string) *admissionv1.AdmissionResponse) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var review admissionv1.AdmissionReview
			decode(t, r.Body, &review)
			var garden unstructured.Unstructured
			decode(t, strings.NewReader(string(review.Request.Object.Raw)), &garden.Object)
			flower, _, _ := unstructured.NestedString(garden.Object, "spec", "flower")
			response := decide(flower)
			response.UID = review.Request.UID
			review.Response = response
			encode(t, w, review)
		}
	}
	mux.HandleFunc("/mutate", review(func(flower string) *admissionv1.AdmissionResponse {
		response := &admissionv1.AdmissionResponse{Allowed: true}
		if flower == "" {
			response.PatchType, response.Patch = ptr.To(admissionv1.PatchTypeJSONPatch), []byte(`[{"op":"add","path":"/spec","value":{"flower":"rose"}}]`)
		}
		return response
	}))
	mux.HandleFunc("/validate", review(func(flower string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: flower != "weed", Result: &metav1.Status{Message: "no weeds"}}
	}))
	mux.HandleFunc("/convert", func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		decode(t, r.Body, &review)
		response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, object := range review.Request.Objects {
			converted := strings.Replace(string(object.Raw), `"apiVersion":"example.com/v1"`, `"apiVersion":"`+review.Request.DesiredAPIVersion+`"`, 1)
			response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: []byte(converted)})
		}
		review.Request, review.Response = nil, response
		encode(t, w, review)
	})
	return mux
}

func decode(t *testing.T, from io.Reader, into any) {
	t.Helper()
	if err := json.NewDecoder(from).Decode(into); err != nil {
		t.Error(err)
	}
}

func encode(t *testing.T, w http.ResponseWriter, value any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		t.Error(err)
	}
}

// The CustomResourceDefinitions and webhooks of a project's folders work in a test, although
// their Services lead to nothing in the cluster.
func TestWebhooksOfFolders(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	c.CreateCRDs("testdata/crds")
	c.InstallWebhooks("testdata/webhooks").Serve(gardenWebhooks(t))
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	gardens := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "gardens"}).Namespace(metav1.NamespaceDefault)
	}
	garden := func(name, flower string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Garden"}}
		o.SetName(name)
		if flower != "" {
			o.Object["spec"] = map[string]any{"flower": flower}
		}
		return o
	}
	if _, err := gardens("v1").Create(t.Context(), garden("wild", "weed"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "no weeds") {
		t.Errorf("a garden of weeds: %v", err)
	}
	if _, err := gardens("v1").Create(t.Context(), garden("front", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	converted, err := gardens("v2").Get(t.Context(), "front", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	minikcmtest.Golden(t, "testdata/garden.yaml", converted)
	c.CreateCRDs("testdata/crds/gardens.yaml") // which replaces it
}
