package apiserver_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"

// TestScaleOfCustomObjects writes scales without a resourceVersion, and for an object that has no number of replicas yet.
func TestScaleOfCustomObjects(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	must(c.widgets().Create(h.ctx, widget("w", map[string]any{"size": int64(3), "replicas": int64(1)}), metav1.CreateOptions{}))(t)
	must(c.widgets().Create(h.ctx, widget("none", map[string]any{"size": int64(3)}), metav1.CreateOptions{}))(t)
	scale := func(name, more string) string {
		return `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"` + name + `","namespace":"default"` + more + `},"spec":{"replicas":3}}`
	}
	for _, name := range []string{"w", "none"} {
		var scaled autoscalingv1.Scale
		h.mustSend("PUT", widgetsPath+"/"+name+"/scale", scale(name, "")).into(t, &scaled)
		w := must(c.widgets().Get(h.ctx, name, metav1.GetOptions{}))(t)
		if replicas, _, _ := unstructured.NestedInt64(w.Object, "spec", "replicas"); scaled.Spec.Replicas != 3 || replicas != 3 {
			t.Errorf("%s: scaled to %+v, %d", name, scaled.Spec, replicas)
		}
	}
	if r := h.send("GET", widgetsPath+"/w/scale", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"); r.code != 200 || !strings.Contains(string(r.body), `"cells":["w",3,0,`) {
		t.Errorf("a scale as a table: %d %s", r.code, r.body)
	}
	wantReply(t, h.send("PUT", widgetsPath+"/w/scale", scale("w", `,"resourceVersion":"1"`)), 409, metav1.StatusReasonConflict, "the object has been modified")
	must(c.widgets().Create(h.ctx, widget("again", map[string]any{"size": int64(3)}), metav1.CreateOptions{}))(t)
	if r := h.send("GET", widgetsPath+"/again/scale", ""); r.code != 500 || !strings.Contains(string(r.body), `the spec replicas field \".spec.replicas\" does not exist`) {
		t.Errorf("%d %s", r.code, r.body)
	}
	wantReply(t, h.send("PATCH", widgetsPath+"/again/scale", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", mergeType), 400, metav1.StatusReasonBadRequest, `the spec replicas field ".spec.replicas" cannot be empty`)
	h.mustSend("PATCH", widgetsPath+"/again/scale", `{"spec":{"replicas":2}}`, "Content-Type", mergeType)
}

const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`

// TestApplyBesideDroppedVersion applies an object beside what another manager owns in a version that the definition no longer has:
// the apply fails and nothing is lost. Other writes keep the entry.
func TestApplyBesideDroppedVersion(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	definition := c.define(gadgetDefinition)
	const applied = `{"apiVersion":"example.com/VERSION","kind":"Gadget","metadata":{"name":"g","labels":{"VERSION":"yes"}},"spec":{"size":3}}`
	apply := func(version string) *reply {
		path := "/apis/example.com/" + version + "/namespaces/default/gadgets/g?fieldManager=" + version
		return h.send("PATCH", path, strings.ReplaceAll(applied, "VERSION", version), "Content-Type", applyType)
	}
	for _, version := range []string{"v1alpha1", "v1"} {
		if r := apply(version); r.code >= 300 {
			t.Fatalf("%d %s", r.code, r.body)
		}
	}
	definition = must(c.definitions.ApiextensionsV1().CustomResourceDefinitions().Get(h.ctx, definition.Name, metav1.GetOptions{}))(t)
	definition.Spec.Versions = definition.Spec.Versions[:1]
	must(c.definitions.ApiextensionsV1().CustomResourceDefinitions().Update(h.ctx, definition, metav1.UpdateOptions{}))(t)
	if r := apply("v1"); r.code != 500 || !strings.Contains(string(r.body), "request to convert CR to an invalid group/version: example.com/v1alpha1") {
		t.Errorf("%d %s", r.code, r.body)
	}
	var g metav1.PartialObjectMetadata
	h.mustSend("PATCH", "/apis/example.com/v1/namespaces/default/gadgets/g", `{"metadata":{"labels":{"more":"yes"}}}`, "Content-Type", mergeType).into(t, &g)
	if !strings.Contains(owners(&g), "v1alpha1 Apply") {
		t.Errorf("owned by %s", owners(&g))
	}
}
