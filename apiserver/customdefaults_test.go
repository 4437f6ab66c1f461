package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// gateDefinition has a default in its status, as kinds of the Gateway API do, in the
// stored version, and other defaults in the other version.
const gateDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gates, singular: gate, kind: Gate}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, mode: {type: string, default: auto}}}
          status:
            type: object
            default: {conditions: [{type: Accepted, status: Unknown}]}
            properties:
              phase: {type: string, default: Pending}
              note: {type: string}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}
    subresources: {status: {}}
    selectableFields: [{jsonPath: .status.phase}]
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .status.phase}]
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, mode: {type: string, default: manual}, speed: {type: string, default: slow}}}
          status:
            type: object
            properties:
              phase: {type: string, default: Waiting}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}
    subresources: {status: {}}
`

const (
	gatesPath = "/apis/example.com/v1/namespaces/default/gates"
	gatesKey  = "/registry/example.com/gates/default/"
)

var gates = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gates"}

func gate(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Gate",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1)},
	}}
}

// defaultStatus returns the status of a Gate that has not set its own.
func defaultStatus() map[string]any {
	return map[string]any{"phase": "Pending", "conditions": []any{map[string]any{"type": "Accepted", "status": "Unknown"}}}
}

func (c *customs) gates() dynamic.ResourceInterface {
	return c.dynamic.Resource(gates).Namespace("default")
}

// wantStatusOf fails the test unless obj has that status.
func wantStatusOf(t testing.TB, what string, obj *unstructured.Unstructured, want map[string]any) {
	t.Helper()
	if diff := cmp.Diff(any(want), obj.Object["status"]); diff != "" {
		t.Errorf("%s: status (-want +got):\n%s", what, diff)
	}
}

// item finds an object in the bytes of a list.
func item(t testing.TB, body []byte, name string) *unstructured.Unstructured {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("reading a list: %v\n%s", err, body)
	}
	for _, content := range list.Items {
		if u := (&unstructured.Unstructured{Object: content}); u.GetName() == name {
			return u
		}
	}
	t.Fatalf("%s is not in the list\n%s", name, body)
	return nil
}

// watched opens a watch and returns its first event for an object of that name.
func (c *customs) watched(path, name string) *unstructured.Unstructured {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	resp := c.open(ctx, c.cfg, "GET", path, "")
	defer resp.Body.Close() // abandoned
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Object map[string]any }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			c.t.Fatalf("reading an event: %v\n%s", err, lines.Bytes())
		}
		if u := (&unstructured.Unstructured{Object: event.Object}); u.GetName() == name {
			return u
		}
	}
	c.t.Fatalf("the watch of %s ended without %s: %v", path, name, lines.Err())
	return nil
}

// reads reads an object of a collection in all possible ways, by name of the way.
func (c *customs) reads(path, name string) map[string]*unstructured.Unstructured {
	c.t.Helper()
	get := func(path string) []byte {
		r := c.raw(c.cfg, "GET", path, "")
		if r.code != 200 {
			c.t.Fatalf("GET %s: %d %s", path, r.code, r.body)
		}
		return r.body
	}
	object := func(path string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(get(path), &u.Object); err != nil {
			c.t.Fatal(err)
		}
		return u
	}
	selected := "?fieldSelector=" + url.QueryEscape("metadata.name="+name)
	var page struct{ Metadata metav1.ListMeta }
	if err := json.Unmarshal(get(path+"?limit=1"), &page); err != nil || page.Metadata.Continue == "" {
		c.t.Fatalf("the first page: %v %v", page, err)
	}
	return map[string]*unstructured.Unstructured{
		"get":                  object(path + "/" + name),
		"get from the cache":   object(path + "/" + name + "?resourceVersion=0"),
		"list":                 item(c.t, get(path), name),
		"list from the cache":  item(c.t, get(path+"?resourceVersion=0"), name),
		"list of one":          item(c.t, get(path+selected), name),
		"second page":          item(c.t, get(path+"?limit=500&continue="+page.Metadata.Continue), name),
		"list of all":          item(c.t, get(strings.Replace(path, "/namespaces/default", "", 1)), name),
		"watch":                c.watched(path+"?watch=1&resourceVersion=0&"+selected[1:], name),
		"watch's initial list": c.watched(path+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", name),
	}
}

// wantReads fails the test unless all ways to read an object return the same, with that
// status. The collection must have another object that precedes it by name.
func (c *customs) wantReads(path, name string, status map[string]any) {
	c.t.Helper()
	all := c.reads(path, name)
	for what, obj := range all {
		wantStatusOf(c.t, what, obj, status)
		if diff := cmp.Diff(all["get"].Object, obj.Object); diff != "" {
			c.t.Errorf("%s differs from get:\n%s", what, diff)
		}
	}
}

// TestCustomStatusDefaults uses a kind whose status has defaults: every response, read
// and event has them, but the stored object does not.
func TestCustomStatusDefaults(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		c := newCustoms(t, h, cfg)
		c.define(gateDefinition)
		seen := c.informed()
		for _, name := range []string{"a", "b"} {
			sent := gate("v1", name)
			sent.Object["status"] = map[string]any{"phase": "Open"} // a create drops it
			created := must(c.gates().Create(c.ctx, sent, metav1.CreateOptions{}))(t)
			wantStatusOf(t, "answer to a create", created, defaultStatus())
			wantStatusOf(t, "informer's add", <-seen, defaultStatus())
		}
		if kv := must(h.store.Get(h.ctx, gatesKey+"b", 0))(t); strings.Contains(string(kv.Value), `"status"`) {
			t.Errorf("stored with a status: %s", kv.Value)
		}
		c.wantReads(gatesPath, "b", defaultStatus())

		changed := must(c.gates().Get(c.ctx, "b", metav1.GetOptions{}))(t)
		changed.Object["spec"] = map[string]any{"size": int64(2)}
		delete(changed.Object, "status")
		updated := must(c.gates().Update(c.ctx, changed, metav1.UpdateOptions{}))(t)
		wantStatusOf(t, "answer to an update", updated, defaultStatus())
		wantStatusOf(t, "informer's update", <-seen, defaultStatus())
		c.wantReads(gatesPath, "b", defaultStatus())

		// A status without values of its own becomes the default again.
		delete(updated.Object, "status")
		updated = must(c.gates().UpdateStatus(c.ctx, updated, metav1.UpdateOptions{}))(t)
		wantStatusOf(t, "answer to an update of the status", updated, defaultStatus())

		patched := must(c.gates().Patch(c.ctx, "b", types.MergePatchType, []byte(`{"status":{"note":"x","conditions":null}}`), metav1.PatchOptions{}, "status"))(t)
		status := map[string]any{"phase": "Pending", "note": "x"}
		wantStatusOf(t, "answer to a patch of the status", patched, status)
		wantStatusOf(t, "informer's update", <-seen, status)
		c.wantReads(gatesPath, "b", status)

		if err := c.gates().Delete(c.ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		wantStatusOf(t, "informer's delete", <-seen, defaultStatus())
	})
}

// informed starts an informer, and returns each object that it delivers; the old state of
// an update must differ from the new one.
func (c *customs) informed() <-chan *unstructured.Unstructured {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0)
	informer := factory.ForResource(gates).Informer()
	seen := make(chan *unstructured.Unstructured, 100)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { seen <- obj.(*unstructured.Unstructured) },
		UpdateFunc: func(_, obj any) { seen <- obj.(*unstructured.Unstructured) },
		DeleteFunc: func(obj any) { seen <- obj.(*unstructured.Unstructured) },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	factory.Start(ctx.Done())
	c.t.Cleanup(func() { cancel(); factory.Shutdown() })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		c.t.Fatal("the informer does not sync")
	}
	return seen
}

// TestCustomStatusDefaultsOfApply creates and changes objects by server-side apply.
func TestCustomStatusDefaultsOfApply(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	apply := metav1.ApplyOptions{FieldManager: "m"}
	for _, name := range []string{"a", "b"} {
		wantStatusOf(t, "apply that creates", must(c.gates().Apply(c.ctx, name, gate("v1", name), apply))(t), defaultStatus())
	}
	c.wantReads(gatesPath, "b", defaultStatus())
	changed := gate("v1", "b")
	changed.Object["spec"] = map[string]any{"size": int64(2)}
	wantStatusOf(t, "apply that changes", must(c.gates().Apply(c.ctx, "b", changed, apply))(t), defaultStatus())
	noted := gate("v1", "b")
	delete(noted.Object, "spec")
	noted.Object["status"] = map[string]any{"note": "x"}
	status := defaultStatus()
	status["note"] = "x"
	wantStatusOf(t, "apply of the status", must(c.gates().ApplyStatus(c.ctx, "b", noted, apply))(t), status)
	c.wantReads(gatesPath, "b", status)
}

// TestCustomStatusDefaultsSelect selects by a field that has its default value, and
// prints it.
func TestCustomStatusDefaultsSelect(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	pending := metav1.ListOptions{FieldSelector: "status.phase=Pending"}
	must(c.gates().List(c.ctx, pending))(t) // from here on, the cache follows the writes
	must(c.gates().Create(c.ctx, gate("v1", "a"), metav1.CreateOptions{}))(t)
	if list := must(c.gates().List(c.ctx, pending))(t); len(list.Items) != 1 {
		t.Errorf("selected: %v", list.Items)
	}
	table := &metav1.Table{}
	h.mustSend("GET", gatesPath, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").into(t, table)
	if got := table.Rows[0].Cells[1]; got != "Pending" {
		t.Errorf("printed: %v", table.Rows[0].Cells)
	}
	must(c.gates().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"status":{"phase":"Open"}}`), metav1.PatchOptions{}, "status"))(t)
	if list := must(c.gates().List(c.ctx, pending))(t); len(list.Items) != 0 {
		t.Errorf("still selected: %v", list.Items)
	}
}

// TestCustomStatusDefaultsOfDryRun checks that a dry run gets the same response as a
// write.
func TestCustomStatusDefaultsOfDryRun(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	all := []string{metav1.DryRunAll}
	wantStatusOf(t, "create", must(c.gates().Create(c.ctx, gate("v1", "a"), metav1.CreateOptions{DryRun: all}))(t), defaultStatus())
	obj := must(c.gates().Create(c.ctx, gate("v1", "a"), metav1.CreateOptions{}))(t)
	delete(obj.Object, "status")
	obj.SetLabels(map[string]string{"a": "b"})
	wantStatusOf(t, "update", must(c.gates().Update(c.ctx, obj, metav1.UpdateOptions{DryRun: all}))(t), defaultStatus())
	answer := must(c.gates().UpdateStatus(c.ctx, obj, metav1.UpdateOptions{DryRun: all}))(t)
	wantStatusOf(t, "update of the status", answer, defaultStatus())
	if answer.GetResourceVersion() != obj.GetResourceVersion() {
		t.Errorf("a dry run has a resourceVersion of its own: %s", answer.GetResourceVersion())
	}
}

// TestCustomStatusDefaultAddedLater changes the defaults of stored objects: reads return
// them, without rewriting the objects.
func TestCustomStatusDefaultAddedLater(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	for _, name := range []string{"a", "b"} {
		must(c.gates().Create(c.ctx, gate("v1", name), metav1.CreateOptions{}))(t)
	}
	before := must(h.store.Get(h.ctx, gatesKey+"b", 0))(t)
	c.redefine("gates.example.com", func(d *apiextensionsv1.CustomResourceDefinition) {
		status := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		status.Properties["phase"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"Waiting"`)}}
		status.Properties["note"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"none"`)}}
		d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"] = status
	})
	status := defaultStatus()
	status["phase"], status["note"] = "Waiting", "none"
	c.wantReads(gatesPath, "b", status)
	after := must(h.store.Get(h.ctx, gatesKey+"b", 0))(t)
	if after.ModRevision != before.ModRevision || string(after.Value) != string(before.Value) {
		t.Errorf("the object was written again: %s", after.Value)
	}
}

// redefine changes a definition.
func (c *customs) redefine(name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	c.t.Helper()
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	d := must(api.Get(c.ctx, name, metav1.GetOptions{}))(c.t)
	change(d)
	must(api.Update(c.ctx, d, metav1.UpdateOptions{}))(c.t)
}

// TestCustomDefaultsOfVersions reads and writes in a version that is not the stored one.
// As upstream ("Defaulting", Kubernetes documentation): a request gets the defaults of its
// version, and an object read from the store gets the defaults of its stored version.
func TestCustomDefaultsOfVersions(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	const other = "/apis/example.com/v2/namespaces/default/gates"
	for _, name := range []string{"a", "b"} {
		must(c.gates().Create(c.ctx, gate("v1", name), metav1.CreateOptions{}))(t)
	}
	c.wantReads(other, "b", defaultStatus())
	for what, obj := range c.reads(other, "b") {
		if diff := cmp.Diff(any(map[string]any{"size": 1.0, "mode": "auto"}), obj.Object["spec"]); diff != "" {
			t.Errorf("%s in the other version: spec (-want +got):\n%s", what, diff)
		}
	}
	sent := gate("v2", "c")
	sent.Object["status"] = map[string]any{"phase": "Open"}
	created := &unstructured.Unstructured{}
	h.mustSend("POST", other, asJSON(t, sent)).into(t, &created.Object)
	wantStatusOf(t, "answer to a create in the other version", created, defaultStatus())
	if diff := cmp.Diff(any(map[string]any{"size": 1.0, "mode": "manual", "speed": "slow"}), created.Object["spec"]); diff == "" {
		t.Error("the answer has what the stored version does not know")
	}
	if diff := cmp.Diff(any(map[string]any{"size": 1.0, "mode": "manual"}), created.Object["spec"]); diff != "" {
		t.Errorf("created in the other version: spec (-want +got):\n%s", diff)
	}
	c.wantReads(gatesPath, "c", defaultStatus())
	c.wantReads(other, "c", defaultStatus())
	if kv := must(h.store.Get(h.ctx, gatesKey+"c", 0))(t); strings.Contains(string(kv.Value), `"status"`) {
		t.Errorf("stored with a status: %s", kv.Value)
	}
}

// TestUpdateOfOlderForm updates, without changes, an object that is stored in an older
// encoding: as upstream, it is rewritten once. Storage version migrations rely on that.
func TestUpdateOfOlderForm(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(gateDefinition)
	before := must(c.gates().Create(c.ctx, gate("v1", "a"), metav1.CreateOptions{}))(t)
	update := func(obj *unstructured.Unstructured, what, want string) *unstructured.Unstructured {
		t.Helper()
		for _, opts := range []metav1.UpdateOptions{{DryRun: []string{metav1.DryRunAll}}, {}} {
			answer := must(c.gates().Update(c.ctx, obj, opts))(t)
			if len(opts.DryRun) > 0 {
				continue
			}
			if answer.GetGeneration() != 1 || (answer.GetResourceVersion() != obj.GetResourceVersion()) != (want != "") {
				t.Errorf("%s: %v", what, answer.Object["metadata"])
			}
			obj = answer
		}
		if kv := must(h.store.Get(h.ctx, gatesKey+"a", 0))(t); !strings.Contains(string(kv.Value), want) {
			t.Errorf("%s: stored %s", what, kv.Value)
		}
		return obj
	}
	written := update(before, "the default status", `"phase":"Pending"`)
	written = update(written, "nothing", "")
	c.redefine("gates.example.com", func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Versions[0].Storage, d.Spec.Versions[1].Storage = false, true
	})
	written = update(written, "another storage version", `"apiVersion":"example.com/v2"`)
	update(written, "nothing", "")
}
