package apiserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
              color: {type: string, default: red, enum: [red, green]}
              replicas: {type: integer}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
            x-kubernetes-validations:
            - {rule: "self.size < 100", message: too big}
            - {rule: "self.size >= oldSelf.size", message: widgets never shrink}
          status:
            type: object
            properties:
              phase: {type: string, enum: [Ready, Broken]}
              replicas: {type: integer}
              selector: {type: string}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Phase, type: string, jsonPath: .status.phase}
    selectableFields: [{jsonPath: .spec.color}]
  - name: v1alpha1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
`

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// parseDefinition reads a definition written in YAML.
func parseDefinition(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// customs has the clients for tests of custom kinds.
type customs struct {
	*harness
	t           *testing.T
	cfg         *rest.Config
	dynamic     dynamic.Interface
	definitions *apiextensionsclient.Clientset
}

func newCustoms(t *testing.T, h *harness, cfg *rest.Config) *customs {
	t.Helper()
	client := h.httpClient(cfg)
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := apiextensionsclient.NewForConfigAndClient(cfg, client)
	if err != nil {
		t.Fatal(err)
	}
	return &customs{harness: h, t: t, cfg: cfg, dynamic: dyn, definitions: definitions}
}

func (c *customs) define(text string) *apiextensionsv1.CustomResourceDefinition {
	c.t.Helper()
	d, err := c.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(c.ctx, parseDefinition(c.t, text), metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *customs) widgets() dynamic.ResourceInterface {
	return c.dynamic.Resource(widgets).Namespace("default")
}

func widget(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func (c *customs) create(obj *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	created, err := c.widgets().Create(c.ctx, obj, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return created
}

func isCondition(d *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == kind && c.Status == apiextensionsv1.ConditionTrue
	})
}

// TestCustomResources defines a custom kind, creates, changes and reads its objects
// immediately, and deletes it with them.
func TestCustomResources(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		c := newCustoms(t, h, cfg)
		d := c.define(widgetDefinition)
		if !isCondition(d, apiextensionsv1.Established) || !isCondition(d, apiextensionsv1.NamesAccepted) {
			t.Fatalf("conditions: %+v", d.Status.Conditions)
		}
		if got := d.Status.AcceptedNames; got.Kind != "Widget" || got.ListKind != "WidgetList" || d.Status.StoredVersions[0] != "v1" {
			t.Fatalf("status: %+v", d.Status)
		}
		stream, err := c.widgets().Watch(c.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Stop()
		created := c.create(widget("a", map[string]any{"size": int64(3), "bogus": true}))
		spec := created.Object["spec"].(map[string]any)
		if spec["color"] != "red" || spec["bogus"] != nil || created.GetGeneration() != 1 || created.GetUID() == "" {
			t.Fatalf("created: %v", created.Object)
		}
		event := <-stream.ResultChan()
		if event.Type != watch.Added || event.Object.(*unstructured.Unstructured).GetName() != "a" {
			t.Fatalf("event: %v", event)
		}
		list, err := c.widgets().List(c.ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
		if err != nil || len(list.Items) != 1 || list.Items[0].GetAPIVersion() != "example.com/v1" || list.GetKind() != "WidgetList" {
			t.Fatalf("list: %v %v", list, err)
		}
		if list, err = c.widgets().List(c.ctx, metav1.ListOptions{FieldSelector: "spec.color=green"}); err != nil || len(list.Items) != 0 {
			t.Fatalf("list: %v %v", list, err)
		}
		stream.Stop()
		c.undefine()
	})
}

// undefine deletes the definition and waits until it is gone, with its objects.
func (c *customs) undefine() {
	c.t.Helper()
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	if err := api.Delete(c.ctx, "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.idle()
	if _, err := api.Get(c.ctx, "widgets.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		c.t.Fatalf("the definition is still there: %v", err)
	}
	if _, err := c.widgets().List(c.ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		c.t.Fatalf("the kind is still served: %v", err)
	}
	left, err := c.store.List(c.ctx, "/registry/example.com/", storeListOptions)
	if err != nil || len(left.KeyValues) > 0 {
		c.t.Fatalf("left in the store: %v %v", left, err)
	}
}

// TestCustomStorage checks that the stored bytes are the same as upstream's.
func TestCustomStorage(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	definition, err := h.store.Get(h.ctx, "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com", 0)
	if err != nil || !strings.Contains(string(definition.Value), `"apiVersion":"apiextensions.k8s.io/v1beta1"`) {
		t.Fatalf("stored: %v %v", definition, err)
	}
	c.create(widget("a", map[string]any{"size": int64(3)}))
	kv, err := h.store.Get(h.ctx, "/registry/example.com/widgets/default/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{}
	if err := json.Unmarshal(kv.Value, &obj); err != nil || obj["apiVersion"] != "example.com/v1" || obj["kind"] != "Widget" {
		t.Fatalf("stored: %s %v", kv.Value, err)
	}
}

// TestCustomInvalid sends objects that a schema, a rule or the metadata validation
// rejects.
func TestCustomInvalid(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	for _, test := range []struct {
		name, body, query string
		code              int32
		reason            metav1.StatusReason
		text              string
	}{
		{"missing", `{"spec":{}}`, "", 422, metav1.StatusReasonInvalid, "spec.size: Required value"},
		{"enum", `{"spec":{"size":1,"color":"blue"}}`, "", 422, metav1.StatusReasonInvalid, `spec.color: Unsupported value: "blue": supported values: "red", "green"`},
		{"type", `{"spec":{"size":"x"}}`, "", 422, metav1.StatusReasonInvalid, `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`},
		{"rule", `{"spec":{"size":100}}`, "", 422, metav1.StatusReasonInvalid, "spec: Invalid value: too big"},
		{"minimum", `{"spec":{"size":0}}`, "", 422, metav1.StatusReasonInvalid, "spec.size in body should be greater than or equal to 1"},
		{"list map", `{"spec":{"size":1,"ports":[{"name":"a"},{"name":"a"}]}}`, "", 422, metav1.StatusReasonInvalid, `spec.ports[1]: Duplicate value: {"name":"a"}`},
		{"embedded", `{"spec":{"size":1,"template":{"apiVersion":"v1"}}}`, "", 422, metav1.StatusReasonInvalid, "spec.template.kind: Required value"},
		{"scale", `{"spec":{"size":1,"replicas":-1}}`, "", 422, metav1.StatusReasonInvalid, "should be a non-negative integer"},
		{"strict", `{"spec":{"size":1,"bogus":{"a":1}}}`, "fieldValidation=Strict", 400, metav1.StatusReasonBadRequest, `strict decoding error: unknown field "spec.bogus"`},
		{"strict metadata", `{"metadata":{"bogus":1},"spec":{"size":1}}`, "fieldValidation=Strict", 400, metav1.StatusReasonBadRequest, `unknown field "metadata.bogus"`},
		{"labels", `{"metadata":{"labels":{"a":1}},"spec":{"size":1}}`, "", 400, metav1.StatusReasonBadRequest, "labels"},
		{"name", `{"metadata":{"name":"A"},"spec":{"size":1}}`, "", 422, metav1.StatusReasonInvalid, "metadata.name: Invalid value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := map[string]any{"metadata": map[string]any{}}
			if err := json.Unmarshal([]byte(test.body), &obj); err != nil {
				t.Fatal(err)
			}
			obj["apiVersion"], obj["kind"] = "example.com/v1", "Widget"
			if metadata := obj["metadata"].(map[string]any); metadata["name"] == nil {
				metadata["name"] = "x"
			}
			r := h.send("POST", "/apis/example.com/v1/namespaces/default/widgets?"+test.query, asJSON(t, obj))
			wantReply(t, r, test.code, test.reason, test.text)
		})
	}
	r := h.send("POST", "/apis/example.com/v1/namespaces/default/widgets", asJSON(t, widget("w", map[string]any{"size": 1, "bogus": 1})))
	if got := r.header.Get("Warning"); r.code != 201 || !strings.Contains(got, `unknown field \"spec.bogus\"`) {
		t.Errorf("by default an unknown field is warned of: %d %q", r.code, got)
	}
}

// TestCustomUpdate tests transition rules, the isolation of status and spec, and the
// generation.
func TestCustomUpdate(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	obj := c.create(widget("a", map[string]any{"size": int64(3)}))
	obj.Object["status"] = map[string]any{"phase": "Ready"}
	obj.Object["spec"].(map[string]any)["size"] = int64(4)
	updated, err := c.widgets().Update(c.ctx, obj, metav1.UpdateOptions{})
	if err != nil || updated.GetGeneration() != 2 || updated.Object["status"] != nil {
		t.Fatalf("update: %v %v", updated, err)
	}
	status := updated.DeepCopy()
	status.Object["status"] = map[string]any{"phase": "Ready"}
	status.Object["spec"].(map[string]any)["size"] = int64(9)
	status.SetLabels(map[string]string{"a": "b"})
	updated, err = c.widgets().UpdateStatus(c.ctx, status, metav1.UpdateOptions{})
	if err != nil || updated.GetGeneration() != 2 || len(updated.GetLabels()) > 0 {
		t.Fatalf("update of the status: %v %v", updated, err)
	}
	if size, _, _ := unstructured.NestedInt64(updated.Object, "spec", "size"); size != 4 {
		t.Fatalf("a status update changed the spec: %v", updated)
	}
	_, err = c.widgets().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "spec: Invalid value: widgets never shrink")
	_, err = c.widgets().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"status":{"phase":"Odd"}}`), metav1.PatchOptions{}, "status")
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, `status.phase: Unsupported value: "Odd"`)
	_, err = c.widgets().Patch(c.ctx, "a", types.StrategicMergePatchType, []byte(`{"spec":{"size":5}}`), metav1.PatchOptions{})
	wantStatus(t, err, 415, metav1.StatusReasonUnsupportedMediaType, "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	patched, err := c.widgets().Patch(c.ctx, "a", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/size","value":5}]`), metav1.PatchOptions{})
	if err != nil || patched.GetGeneration() != 3 {
		t.Fatalf("patch: %v %v", patched, err)
	}
	patched.SetResourceVersion("")
	_, err = c.widgets().Update(c.ctx, patched, metav1.UpdateOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "metadata.resourceVersion: Invalid value")
}

// TestCustomScale tests the scale subresource.
func TestCustomScale(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	c.create(widget("a", map[string]any{"size": int64(3), "replicas": int64(2)}))
	scale, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{}, "scale")
	if err != nil || scale.GetKind() != "Scale" {
		t.Fatalf("scale: %v %v", scale, err)
	}
	if err := unstructured.SetNestedField(scale.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.widgets().Update(c.ctx, scale, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	obj, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{})
	if replicas, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); err != nil || replicas != 5 || obj.GetGeneration() != 2 {
		t.Fatalf("scaled: %v %v", obj, err)
	}
}

// TestCustomApply tests server-side apply: a list with keys is merged, a conflict names
// the field.
func TestCustomApply(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, overHTTPS().config(h))
	c.define(widgetDefinition)
	port := func(name string, n int64) map[string]any { return map[string]any{"name": name, "port": n} }
	apply := func(owner string, spec map[string]any) (*unstructured.Unstructured, error) {
		return c.widgets().Apply(c.ctx, "a", widget("a", spec), metav1.ApplyOptions{FieldManager: owner})
	}
	if _, err := apply("one", map[string]any{"size": int64(3), "replicas": int64(2), "ports": []any{port("http", 80)}}); err != nil {
		t.Fatal(err)
	}
	obj, err := apply("two", map[string]any{"ports": []any{port("https", 443)}})
	if err != nil {
		t.Fatal(err)
	}
	if ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports"); len(ports) != 2 {
		t.Fatalf("ports are not merged by their names: %v", ports)
	}
	_, err = apply("two", map[string]any{"size": int64(4)})
	wantStatus(t, err, 409, metav1.StatusReasonConflict, `Apply failed with 1 conflict: conflict with "one": .spec.size`)
	if managed := obj.GetManagedFields(); len(managed) != 2 || managed[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Fatalf("managed fields: %+v", managed)
	}
	scale, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{}, "scale")
	if replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas"); err != nil || replicas != 2 {
		t.Fatalf("a number that was applied is none: %v %v", scale, err)
	}
}

// TestCustomVersions reads and writes an object in both versions.
func TestCustomVersions(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	c.create(widget("a", map[string]any{"size": int64(3)}))
	r := h.mustSend("GET", "/apis/example.com/v1alpha1/namespaces/default/widgets/a", "")
	obj := &unstructured.Unstructured{}
	r.into(t, &obj.Object)
	if _, color := obj.Object["spec"].(map[string]any)["color"]; color || obj.GetAPIVersion() != "example.com/v1alpha1" {
		t.Fatalf("in the other version: %s", r.body)
	}
	if got := r.header.Get("Warning"); !strings.Contains(got, "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget") {
		t.Fatalf("Warning: %q", got)
	}
	h.mustSend("PATCH", "/apis/example.com/v1alpha1/namespaces/default/widgets/a", `{"spec":{"size":4}}`, "Content-Type", "application/merge-patch+json")
	latest, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{})
	if size, _, _ := unstructured.NestedInt64(latest.Object, "spec", "size"); err != nil || size != 4 || latest.GetAPIVersion() != "example.com/v1" {
		t.Fatalf("written in the other version: %v %v", latest, err)
	}
}

// TestCustomDiscovery checks discovery and OpenAPI of custom kinds.
func TestCustomDiscovery(t *testing.T) {
	h := start(t)
	cfg := inMemory().config(h)
	c := newCustoms(t, h, cfg)
	client, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, h.httpClient(cfg))
	if err != nil {
		t.Fatal(err)
	}
	served := func() bool {
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == "example.com/v1" })
	}
	before := string(h.mustSend("GET", "/openapi/v3", "").body)
	if served() {
		t.Fatal("served before it is defined")
	}
	c.define(widgetDefinition)
	if !served() {
		t.Fatal("not served when it is defined")
	}
	after := string(h.mustSend("GET", "/openapi/v3", "").body)
	if strings.Contains(before, "apis/example.com/v1") || !strings.Contains(after, "apis/example.com/v1") {
		t.Errorf("OpenAPI index: %s", after)
	}
	document := string(h.mustSend("GET", "/openapi/v3/apis/example.com/v1", "").body)
	for _, want := range []string{`"com.example.v1.Widget"`, `"com.example.v1.WidgetList"`, `"x-kubernetes-list-map-keys"`, `"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`} {
		if !strings.Contains(document, want) {
			t.Errorf("the OpenAPI document has no %s", want)
		}
	}
	if v2 := string(h.mustSend("GET", "/openapi/v2", "").body); !strings.Contains(v2, `"com.example.v1.Widget"`) {
		t.Error("the OpenAPI v2 document has no Widget")
	}
	c.undefine()
	if served() {
		t.Fatal("served when its definition is gone")
	}
}

// TestCustomTable checks the printer columns.
func TestCustomTable(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	c.create(widget("a", map[string]any{"size": int64(3)}))
	r := h.mustSend("GET", "/apis/example.com/v1/namespaces/default/widgets", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	table := &metav1.Table{}
	r.into(t, table)
	if got := fmt.Sprint(table.Rows[0].Cells); got != "[a 3 <nil>]" || table.ColumnDefinitions[1].Name != "Size" {
		t.Errorf("table: %q %v", got, table.ColumnDefinitions)
	}
	protobuf := h.send("GET", "/apis/example.com/v1/namespaces/default/widgets/a", "", "Accept", "application/vnd.kubernetes.protobuf")
	if protobuf.code != 406 {
		t.Errorf("protobuf: %d", protobuf.code)
	}
	either := h.mustSend("GET", "/apis/example.com/v1/namespaces/default/widgets/a", "", "Accept", "application/vnd.kubernetes.protobuf,application/json")
	if got := either.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("protobuf or JSON: %s", got)
	}
}

// TestCustomMetadata watches only the metadata, in protobuf.
func TestCustomMetadata(t *testing.T) {
	h := start(t)
	cfg := inMemory().config(h)
	c := newCustoms(t, h, cfg)
	c.define(widgetDefinition)
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h.httpClient(cfg))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Resource(widgets).Watch(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	c.create(widget("a", map[string]any{"size": int64(1)}))
	if event := <-stream.ResultChan(); event.Type != watch.Added || event.Object.(*metav1.PartialObjectMetadata).Name != "a" {
		t.Fatalf("%v", event)
	}
	if err := c.widgets().Delete(c.ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := <-stream.ResultChan(); event.Type != watch.Deleted {
		t.Fatalf("%v", event)
	}
}

// TestCustomTyped uses a client with Go types and JSON, as controller-runtime does.
func TestCustomTyped(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, overHTTPS().config(h))
	c.define(widgetDefinition)
	types := runtime.NewScheme()
	gv := widgets.GroupVersion()
	types.AddKnownTypeWithName(gv.WithKind("Widget"), &typedWidget{})
	metav1.AddToGroupVersion(types, gv)
	client := typedClient(t, h, c.cfg, types, gv)
	in := &typedWidget{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: typedWidgetSpec{Size: 7}}
	out := &typedWidget{}
	if err := client.Post().Namespace("default").Resource("widgets").Body(in).Do(c.ctx).Into(out); err != nil {
		t.Fatal(err)
	}
	if out.Spec.Color != "red" || out.UID == "" {
		t.Fatalf("created: %+v", out)
	}
}

// TestCustomListBytes checks the bytes of lists: an empty continue is included, as in
// upstream's unstructured lists and unlike typed ones.
func TestCustomListBytes(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		c := newCustoms(t, h, cfg)
		c.define(widgetDefinition)
		const path = "/apis/example.com/v1/namespaces/default/widgets"
		// The conditions of the definition may be written meanwhile.
		want := regexp.MustCompile(`^\{"apiVersion":"example.com/v1","items":\[\],"kind":"WidgetList","metadata":\{"continue":"","resourceVersion":"[1-9][0-9]*"\}\}` + "\n$")
		if got := h.raw(cfg, "GET", path, "").body; !want.Match(got) {
			t.Errorf("an empty list: %swant %s", got, want)
		}
		for _, name := range []string{"a", "b", "c"} {
			c.create(widget(name, map[string]any{"size": int64(3)}))
		}
		var page struct {
			Metadata map[string]any
			Items    []any
		}
		h.raw(cfg, "GET", path+"?limit=1", "").into(t, &page)
		if page.Metadata["continue"] == "" || page.Metadata["remainingItemCount"] != 2.0 || len(page.Items) != 1 {
			t.Errorf("the first page: %v", page)
		}
		for _, query := range []string{"", "?resourceVersion=0", "?limit=3", "?labelSelector=a%3Db"} {
			page.Metadata = nil
			h.raw(cfg, "GET", path+query, "").into(t, &page)
			if token, found := page.Metadata["continue"]; !found || token != "" || len(page.Metadata) != 2 {
				t.Errorf("the whole list %s: %v", query, page.Metadata)
			}
		}
		partial := "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		if got := string(h.raw(cfg, "GET", path, "", "Accept", partial).body); strings.Contains(got, `"continue"`) {
			t.Errorf("the metadata: %s", got)
		}
		h.raw(cfg, "DELETE", path, "").into(t, &page)
		if _, found := page.Metadata["continue"]; !found || len(page.Items) != 3 {
			t.Errorf("answer to a deletion of all: %v", page)
		}
	})
}
