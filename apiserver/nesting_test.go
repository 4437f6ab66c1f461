package apiserver_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/request"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// deepSchema returns a definition whose schema has that many levels.
func deepSchema(levels int) *apiextensionsv1.CustomResourceDefinition {
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	for range levels {
		schema = &apiextensionsv1.JSONSchemaProps{Not: schema}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "deeps.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "deeps", Kind: "Deep"}, Scope: "Cluster",
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			}},
		},
	}
}

// Bodies that are nested too deep are refused before a recursive parser reads them.
func TestNestedBodies(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	nested := func(levels int) string {
		return `{"metadata":` + strings.Repeat(`{"a":`, levels-2) + "1" + strings.Repeat("}", levels-2) + "}"
	}
	deepest := deepSchema(2 * request.MaxDepth)
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: deepest.APIVersion, Kind: deepest.Kind}, Raw: must(deepest.Marshal())(t)}
	proto := append([]byte("k8s\x00"), must(envelope.Marshal())(t)...)
	const deep = "nested more than 250 levels deep"
	for name, c := range map[string]struct {
		verb, path, contentType, body string
		code                          int32
		reason                        metav1.StatusReason
		text                          string
	}{
		"JSON":            {"POST", mapsPath, "application/json", nested(10_000), 400, metav1.StatusReasonBadRequest, deep},
		"YAML":            {"POST", mapsPath, "application/yaml", nested(9_000), 400, metav1.StatusReasonBadRequest, deep},
		"protobuf":        {"POST", definitionsPath, "application/vnd.kubernetes.protobuf", string(proto), 400, metav1.StatusReasonBadRequest, deep},
		"delete options":  {"DELETE", mapsPath + "/a", "application/json", nested(10_000), 400, metav1.StatusReasonBadRequest, deep},
		"merge patch":     {"PATCH", mapsPath + "/a", "application/merge-patch+json", nested(10_000), 400, metav1.StatusReasonBadRequest, deep},
		"strategic patch": {"PATCH", mapsPath + "/a", "application/strategic-merge-patch+json", nested(10_000), 400, metav1.StatusReasonBadRequest, deep},
		"JSON patch":      {"PATCH", mapsPath + "/a", "application/json-patch+json", `[{"op":"add","path":"/data","value":` + nested(10_000) + "}]", 400, metav1.StatusReasonBadRequest, deep},
		"apply":           {"PATCH", mapsPath + "/a?fieldManager=m", "application/apply-patch+yaml", nested(9_000), 400, metav1.StatusReasonBadRequest, deep},
		"repeated string": {
			"PATCH", mapsPath + "/a?fieldManager=m", "application/apply-patch+yaml", "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a, ", 1000) + "]",
			400, metav1.StatusReasonBadRequest, "its aliases expand it to more than 3145728 bytes",
		},
	} {
		r := h.send(c.verb, c.path, c.body, "Content-Type", c.contentType)
		s := r.status(t)
		if r.code != int(c.code) || s.Reason != c.reason || !strings.Contains(s.Message, c.text) {
			t.Errorf("%s: %d %s %.300q\nwant %d %s %q", name, r.code, s.Reason, s.Message, c.code, c.reason, c.text)
		}
	}
	// The deepest body that is read gets past the check.
	if s := h.send("POST", mapsPath, nested(request.MaxDepth)).status(t); strings.Contains(s.Message, deep) {
		t.Errorf("%d levels: %s", request.MaxDepth, s.Message)
	}
}

// Expressions that are nested deep or very long are refused, or accepted, but never
// exhaust the stack of a recursive parser.
func TestNestedExpressions(t *testing.T) {
	h := start(t)
	nested := func(open, inner, end string, levels int) string {
		return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
	}
	withRule := func(rule string) string {
		return asJSON(t, map[string]any{"metadata": map[string]any{"name": "deeps.example.com"}, "spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "deeps", "kind": "Deep"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-validations": []any{map[string]any{"rule": rule}},
			}}}},
		}})
	}
	withColumn := func(path string) string {
		return asJSON(t, map[string]any{"metadata": map[string]any{"name": "deeps.example.com"}, "spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "deeps", "kind": "Deep"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
				"additionalPrinterColumns": []any{map[string]any{"name": "c", "type": "string", "jsonPath": path}},
			}},
		}})
	}
	const levels = 20_000
	for name, body := range map[string]string{
		"rule of parentheses": withRule(nested("(", "true", ")", levels)),
		"rule of lists":       withRule(nested("[", "1", "]", levels) + " == []"),
		"rule of negations":   withRule(nested("!", "true", "", levels)),
		"rule of selections":  withRule("self" + strings.Repeat(".a", levels)),
		"rule of terms":       withRule("true" + strings.Repeat(" && true", levels)),
		"rule of choices":     withRule(nested("true ? ", "true", " : false", levels)),
		"column of filters":   withColumn(nested(".a[?(@", ".b", "==1)]", levels)),
		"column of brackets":  withColumn(nested("[", "0", "]", levels)),
		"column of steps":     withColumn(strings.Repeat("..", levels)),
	} {
		if r := h.send("POST", definitionsPath+"?dryRun=All", body); r.code >= 500 {
			t.Errorf("%s: %d %.300s", name, r.code, r.body)
		}
	}
	for name, query := range map[string]string{
		"label selector": "labelSelector=" + nested("(", "a", ")", levels),
		"label values":   "labelSelector=a%20in%20(" + strings.Repeat("b,", levels) + "b)",
		"negations":      "labelSelector=" + strings.Repeat("!", levels) + "a",
		"field selector": "fieldSelector=" + strings.Repeat("metadata.name=a,", levels) + "metadata.name=a",
	} {
		if r := h.send("GET", mapsPath+"?"+query, ""); r.code >= 500 {
			t.Errorf("%s: %d %.300s", name, r.code, r.body)
		}
	}
}
