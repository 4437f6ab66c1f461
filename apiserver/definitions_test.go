package apiserver_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// TestCustomDryRun checks that dry runs neither define kinds nor create objects.
func TestCustomDryRun(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if d, err := api.Create(c.ctx, parseDefinition(t, widgetDefinition), dry); err != nil || !isCondition(d, apiextensionsv1.Established) {
		t.Fatalf("%v %v", d, err)
	}
	if _, err := c.widgets().List(c.ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("served without being defined: %v", err)
	}
	c.define(widgetDefinition)
	if _, err := c.widgets().Create(c.ctx, widget("a", map[string]any{"size": int64(1)}), dry); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(c.ctx, "widgets.example.com", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if list, err := c.widgets().List(c.ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Fatalf("%v %v", list, err)
	}
	c.undefine()
}

// TestDefinitionStatus writes the status of a definition as a client.
func TestDefinitionStatus(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	d := c.define(widgetDefinition)
	d.Status.Conditions = append(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: "Checked", Status: apiextensionsv1.ConditionTrue, Reason: "Test", Message: "by a test",
	})
	d.Spec.PreserveUnknownFields = true
	updated, err := c.definitions.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(c.ctx, d, metav1.UpdateOptions{})
	if err != nil || !isCondition(updated, "Checked") || !isCondition(updated, apiextensionsv1.Established) || updated.Spec.PreserveUnknownFields {
		t.Fatalf("%+v %v", updated, err)
	}
	if updated.Generation != 1 {
		t.Errorf("generation %d", updated.Generation)
	}
}

// TestCustomNamesConflict gives a name to the second of two definitions when the first
// one is deleted.
func TestCustomNamesConflict(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	other := parseDefinition(t, widgetDefinition)
	other.Name, other.Spec.Names.Plural = "widgetries.example.com", "widgetries"
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	d, err := api.Create(c.ctx, other, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if isCondition(d, apiextensionsv1.Established) || d.Status.Conditions[0].Reason != "ListKindConflict" || d.Status.Conditions[0].Message != `"WidgetList" is already in use` {
		t.Fatalf("conditions: %+v", d.Status.Conditions)
	}
	c.undefine()
	if d, err = api.Get(c.ctx, d.Name, metav1.GetOptions{}); err != nil || !isCondition(d, apiextensionsv1.Established) {
		t.Fatalf("conditions: %+v %v", d, err)
	}
	if _, err := c.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgetries"}).List(c.ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestCustomSchemaChange changes a schema: an open watch ends, and existing objects
// follow the new schema.
func TestCustomSchemaChange(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	d := c.define(widgetDefinition)
	c.create(widget("a", map[string]any{"size": int64(3), "replicas": int64(1)}))
	stream, err := c.widgets().Watch(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-stream.ResultChan()
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	delete(spec.Properties, "replicas")
	spec.Properties["shape"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"round"`)}}
	d.Spec.Versions[0].Subresources.Scale = nil
	if d, err = c.definitions.ApiextensionsV1().CustomResourceDefinitions().Update(c.ctx, d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if d.Generation != 2 {
		t.Errorf("generation %d", d.Generation)
	}
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			t.Fatalf("event: %v", event)
		}
	}
	obj, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := obj.Object["spec"].(map[string]any); got["shape"] != "round" || got["replicas"] != nil {
		t.Errorf("the object does not follow its schema: %v", got)
	}
	if _, err := c.widgets().Get(c.ctx, "a", metav1.GetOptions{}, "scale"); !apierrors.IsNotFound(err) {
		t.Errorf("scale: %v", err)
	}
}

// TestCustomDeletionWaits deletes a definition whose object has a finalizer.
func TestCustomDeletionWaits(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	obj := widget("a", map[string]any{"size": int64(3)})
	obj.SetFinalizers([]string{"example.com/wait"})
	c.create(obj)
	c.create(widget("b", map[string]any{"size": int64(3)}))
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	if err := api.Delete(c.ctx, "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.idle()
	d, err := api.Get(c.ctx, "widgets.example.com", metav1.GetOptions{})
	if err != nil || !isCondition(d, apiextensionsv1.Terminating) {
		t.Fatalf("waiting: %v %v", d, err)
	}
	_, err = c.widgets().Create(c.ctx, widget("c", map[string]any{"size": int64(1)}), metav1.CreateOptions{})
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, "create not allowed while custom resource definition is terminating")
	if _, err := c.widgets().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	h.idle()
	if _, err := api.Get(c.ctx, "widgets.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the definition is still there: %v", err)
	}
}

// TestCustomAfterRestart serves what an earlier server stored, and continues a
// deletion.
func TestCustomAfterRestart(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	obj := widget("a", map[string]any{"size": int64(3)})
	obj.SetFinalizers([]string{"example.com/wait"})
	c.create(obj)
	if err := c.definitions.ApiextensionsV1().CustomResourceDefinitions().Delete(c.ctx, "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.idle()
	h.server.Close()
	again := restart(t, h)
	c = newCustoms(t, again, inMemory().config(again))
	if _, err := c.widgets().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	again.idle()
	if _, err := c.definitions.ApiextensionsV1().CustomResourceDefinitions().Get(c.ctx, "widgets.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the definition is still there: %v", err)
	}
}

// TestCustomSharedStore has two servers on one store: each serves the kinds that the
// other defines.
func TestCustomSharedStore(t *testing.T) {
	h := start(t)
	other := restart(t, h)
	c, o := newCustoms(t, h, inMemory().config(h)), newCustoms(t, other, inMemory().config(other))
	c.define(widgetDefinition)
	c.create(widget("a", map[string]any{"size": int64(3)}))
	var err error
	for o.ctx.Err() == nil {
		if _, err = o.widgets().Get(o.ctx, "a", metav1.GetOptions{}); err == nil {
			return
		}
	}
	t.Fatal(err)
}
