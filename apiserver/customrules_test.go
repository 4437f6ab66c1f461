package apiserver_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const ruledDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ruleds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ruleds, kind: Ruled}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}]
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string}
              size: {type: integer}
              low: {type: integer}
              high: {type: integer}
              born: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: born once}]}
              once:
                type: string
                x-kubernetes-validations:
                - {rule: "oldSelf.hasValue() || self == 'new'", optionalOldSelf: true, message: begins as new}
              ports:
                type: array
                maxItems: 5
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, maxLength: 9}
                    port: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: ports only grow}]}
              set:
                type: array
                x-kubernetes-list-type: set
                items: {type: string}
            x-kubernetes-validations:
            - rule: "!has(self.low) || !has(self.high) || self.low <= self.high"
              messageExpression: "self.high < 0 ? 'high is negative' : 'low is above high'"
              fieldPath: .low
              reason: FieldValueForbidden
          status:
            type: object
            properties:
              count: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: counts never fall}]}
`

func ruled(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Ruled", "metadata": map[string]any{"name": "a"}, "spec": spec,
	}}
}

func newRuled(t *testing.T, h *harness) (*customs, dynamic.ResourceInterface) {
	t.Helper()
	c := newCustoms(t, h, inMemory().config(h))
	c.define(ruledDefinition)
	return c, c.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ruleds"}).Namespace("default")
}

// TestRules checks objects against the rules of their schema (Kubernetes documentation,
// "Validation rules").
func TestRules(t *testing.T) {
	h := start(t)
	_, client := newRuled(t, h)
	_, err := client.Create(h.ctx, ruled(map[string]any{"once": "old"}), metav1.CreateOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, `spec.once: Invalid value: "old": begins as new`)
	must(client.Create(h.ctx, ruled(map[string]any{
		"once": "new", "born": "1970", "ports": []any{map[string]any{"name": "a", "port": int64(1)}, map[string]any{"name": "b", "port": int64(9)}},
	}), metav1.CreateOptions{}))(t)
	for _, test := range []struct{ patch, want string }{
		{`{"spec":{"low":2,"high":1}}`, "spec.low: Forbidden: low is above high"},
		{`{"spec":{"born":"1980"}}`, `spec.born: Invalid value: "1980": born once`},
		{`{"spec":{"once":"later"}}`, ""},
		// Items correspond by their keys, regardless of their position.
		{`{"spec":{"ports":[{"name":"b","port":9},{"name":"a","port":2}]}}`, ""},
		{`{"spec":{"ports":[{"name":"b","port":8},{"name":"a","port":2}]}}`, "spec.ports[0].port: Invalid value: 8: ports only grow"},
		{`{"spec":{"ports":[{"name":"c","port":1}]}}`, ""},
		{`{"spec":{"ports":[{"name":"c"},{"name":"c"}]}}`, "spec.ports[1]: Duplicate value"},
		{`{"spec":{"set":["a","a"]}}`, "spec.set[1]: Duplicate value"},
		{`{"spec":{"size":1.5}}`, "spec.size: Invalid value"},
	} {
		_, err := client.Patch(h.ctx, "a", types.MergePatchType, []byte(test.patch), metav1.PatchOptions{})
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", test.patch, err)
		}
		if test.want != "" {
			wantStatus(t, err, 422, metav1.StatusReasonInvalid, test.want)
		}
	}
	must(client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"status":{"count":2}}`), metav1.PatchOptions{}, "status"))(t)
	_, err = client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"status":{"count":1}}`), metav1.PatchOptions{}, "status")
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "status.count: Invalid value: 1: counts never fall")
}

// TestRatcheting accepts unchanged values that a stricter schema would reject
// (KEP-4008).
func TestRatcheting(t *testing.T) {
	h := start(t)
	c, client := newRuled(t, h)
	must(client.Create(h.ctx, ruled(map[string]any{"color": "red", "size": int64(7)}), metav1.CreateOptions{}))(t)
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	d := must(api.Get(h.ctx, "ruleds.example.com", metav1.GetOptions{}))(t)
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	one := int64(1)
	spec.Properties["color"] = apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: &one}
	spec.Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "integer", XValidations: apiextensionsv1.ValidationRules{{Rule: "self < 5", Message: "too big"}}}
	must(api.Update(h.ctx, d, metav1.UpdateOptions{}))(t)
	must(client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"low":1}}`), metav1.PatchOptions{}))(t)
	_, err := client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"color":"blue"}}`), metav1.PatchOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "spec.color: Too long")
	_, err = client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":8}}`), metav1.PatchOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "spec.size: Invalid value: 8: too big")
	must(client.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{}))(t)
}

// TestRuleCosts rejects rules that may cost too much, or do not compile, with
// upstream's errors.
func TestRuleCosts(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	define := func(change func(spec *apiextensionsv1.JSONSchemaProps)) error {
		d := parseDefinition(t, ruledDefinition)
		spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		change(&spec)
		d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
		_, err := c.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(h.ctx, d, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	rule := func(text string) func(*apiextensionsv1.JSONSchemaProps) {
		return func(spec *apiextensionsv1.JSONSchemaProps) {
			spec.Properties["list"] = apiextensionsv1.JSONSchemaProps{
				Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
				XValidations: apiextensionsv1.ValidationRules{{Rule: text}},
			}
		}
	}
	// The library's path if there is only one version.
	const path = "spec.validation.openAPIV3Schema.properties[spec].properties[list].x-kubernetes-validations[0].rule: "
	for text, want := range map[string]string{
		"self.all(x, self.all(y, x.contains(y)))": path + "Forbidden: estimated rule cost exceeds budget by factor of more than 100x",
		"self.nope == 1":                path + "Invalid value: {\"Rule\":\"self.nope == 1\",\"Message\":",
		"self[0] == oldSelf[0] ? 1 : 2": path + "Invalid value",
		"":                              path + "Required value: rule is not specified",
	} {
		err := define(rule(text))
		wantStatus(t, err, 422, metav1.StatusReasonInvalid, want)
	}
	if err := define(rule("self.all(x, x == 'a')")); err != nil {
		t.Error(err)
	}
}

// TestSelectableFields lists and watches by fields of a custom kind.
func TestSelectableFields(t *testing.T) {
	h := start(t)
	_, client := newRuled(t, h)
	red := must(client.Watch(h.ctx, metav1.ListOptions{FieldSelector: "spec.color=red,spec.size!=3"}))(t)
	defer red.Stop()
	want := func(kind watch.EventType) {
		t.Helper()
		if event := <-red.ResultChan(); event.Type != kind {
			t.Fatalf("want %s, got %+v", kind, event)
		}
	}
	must(client.Create(h.ctx, ruled(map[string]any{"color": "red", "size": int64(1)}), metav1.CreateOptions{}))(t)
	want(watch.Added)
	for _, step := range []struct {
		patch string
		want  watch.EventType
	}{
		{`{"spec":{"size":2}}`, watch.Modified},
		{`{"spec":{"size":3}}`, watch.Deleted},
		{`{"spec":{"size":4}}`, watch.Added},
		{`{"spec":{"color":null}}`, watch.Deleted},
	} {
		must(client.Patch(h.ctx, "a", types.MergePatchType, []byte(step.patch), metav1.PatchOptions{}))(t)
		want(step.want)
	}
	for selector, count := range map[string]int{"spec.color=": 1, "spec.size=4": 1, "spec.size=5": 0, "metadata.name=a": 1} {
		if list := must(client.List(h.ctx, metav1.ListOptions{FieldSelector: selector}))(t); len(list.Items) != count {
			t.Errorf("%s: %d", selector, len(list.Items))
		}
	}
	_, err := client.List(h.ctx, metav1.ListOptions{FieldSelector: "spec.low=1"})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "field label not supported: spec.low")
}

// TestVersionPriority lists versions in order of preference.
func TestVersionPriority(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	d := parseDefinition(t, widgetDefinition)
	d.Spec.Versions = d.Spec.Versions[:1]
	for _, name := range []string{"v1beta1", "v10", "v2", "foo", "v11alpha1", "v2beta3", "bar"} {
		v := *d.Spec.Versions[0].DeepCopy()
		v.Name, v.Storage, v.Served = name, false, name != "v2"
		d.Spec.Versions = append(d.Spec.Versions, v)
	}
	must(c.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(h.ctx, d, metav1.CreateOptions{}))(t)
	groups := must(c.definitions.Discovery().ServerGroups())(t)
	for i := range groups.Groups {
		if groups.Groups[i].Name != "example.com" {
			continue
		}
		var names []string
		for _, v := range groups.Groups[i].Versions {
			names = append(names, v.Version)
		}
		if got := strings.Join(names, " "); got != "v10 v1 v2beta3 v1beta1 v11alpha1 bar foo" {
			t.Errorf("versions: %s", got)
		}
	}
}
