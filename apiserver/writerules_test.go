package apiserver_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// writeRules returns the rules of upstream's strategies for fields that a client may send but not change, by
// kind. The module test/conformance records it.
func writeRules(t *testing.T) map[schema.GroupVersionKind]map[string]string {
	t.Helper()
	data, err := os.ReadFile("internal/resources/testdata/writerules.upstream")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[schema.GroupVersionKind]map[string]string{}
	for line := range strings.Lines(string(data)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if words[0] == "#" {
			continue
		}
		kind := schema.FromAPIVersionAndKind(words[0], words[1])
		if rules[kind] == nil {
			rules[kind] = map[string]string{}
		}
		cut := strings.LastIndexByte(words[2], ' ')
		rules[kind][words[2][:cut]] = words[2][cut+1:]
	}
	return rules
}

// statusWrites are the ways to write through the status: each returns the metadata with a new value, and the patch type.
var statusWrites = map[string]string{
	"update": "", "merge patch": "application/merge-patch+json", "JSON patch": "application/json-patch+json", "apply": "application/apply-patch+yaml",
}

// metadataOf is metadata with the same value in each field that a client may be able to change.
func metadataOf(value string) map[string]any {
	return map[string]any{
		"labels": map[string]any{"l": value}, "annotations": map[string]any{"example.com/a": value}, "finalizers": []any{"example.com/" + value},
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": value, "uid": "1"}},
	}
}

// kept returns the names of the fields that still have the value.
func kept(m metav1.Object, value string) []string {
	var fields []string
	for name, is := range map[string]bool{
		"labels": m.GetLabels()["l"] == value, "annotations": m.GetAnnotations()["example.com/a"] == value,
		"finalizers":      slices.Equal(m.GetFinalizers(), []string{"example.com/" + value}),
		"ownerReferences": len(m.GetOwnerReferences()) == 1 && m.GetOwnerReferences()[0].Name == value,
	} {
		if is {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// TestStatusKeepsMetadata changes the metadata of an object of each kind through its status, in all ways. What that changes is
// a property of the kind: a client that may write the status only must not be able to change more.
func TestStatusKeepsMetadata(t *testing.T) {
	rules := writeRules(t)
	eachKind(t, func(row *resources.Resource) bool { return row.Subresource("status") != nil }, func(t *testing.T, o *kindObject) {
		wanted := rules[o.row.GroupVersionKind]["status: keeps"]
		switch {
		case o.row.Custom:
			wanted = "annotations,finalizers,labels,ownerReferences"
		case o.row.Storage != nil:
			wanted = rules[o.row.GroupVersionKind.GroupKind().WithVersion("v2")]["status: keeps"]
		}
		for how, patch := range statusWrites {
			// Finalizers that an apply adds would stay.
			o.mustSend("PATCH", o.path, `{"metadata":{"finalizers":null}}`, "Content-Type", statusWrites["merge patch"])
			o.mustSend("PATCH", o.path, asJSON(t, map[string]any{"metadata": metadataOf("old")}), "Content-Type", statusWrites["merge patch"])
			o.idle()
			o.writeMetadata(how, patch)
			m := &metav1.PartialObjectMetadata{}
			o.mustSend("GET", o.path, "").into(t, m)
			if got := strings.Join(kept(m, "old"), ","); got != wanted {
				t.Errorf("%s keeps %q, want %q: %+v", how, got, wanted, m.ObjectMeta)
			}
		}
	})
}

// writeMetadata changes the metadata through the status.
func (o *kindObject) writeMetadata(how, patch string) {
	o.t.Helper()
	changed := metadataOf("new")
	switch how {
	case "update":
		o.updateStatus(changed)
	case "merge patch":
		o.mustSend("PATCH", o.path+"/status", asJSON(o.t, map[string]any{"metadata": changed}), "Content-Type", patch)
	case "JSON patch":
		var operations []any
		for name, value := range changed {
			operations = append(operations, map[string]any{"op": "add", "path": "/metadata/" + name, "value": value})
		}
		o.mustSend("PATCH", o.path+"/status", asJSON(o.t, operations), "Content-Type", patch)
	case "apply":
		changed["name"] = nameIn(o.t, o.created)
		o.mustSend("PATCH", o.path+"/status?force=true&fieldManager=m", asJSON(o.t, map[string]any{
			"apiVersion": o.row.GroupVersion().String(), "kind": o.row.Kind, "metadata": changed,
		}), "Content-Type", patch)
	}
}

// updateStatus puts an object whose metadata is changed to its status. It repeats that on a conflict, as a client does: the check
// of an APIService writes the status when the server that it calls has answered, which no ledger counts.
func (o *kindObject) updateStatus(metadata map[string]any) {
	o.t.Helper()
	for {
		u := &unstructured.Unstructured{}
		o.mustSend("GET", o.path, "").into(o.t, &u.Object)
		maps.Copy(u.Object["metadata"].(map[string]any), metadata)
		switch r := o.send("PUT", o.path+"/status", asJSON(o.t, u.Object)); {
		case r.code < 300:
			return
		case r.code != http.StatusConflict:
			o.t.Fatalf("PUT %s/status: %d\n%s", o.path, r.code, r.body)
		}
	}
}

// TestGenerationOfKinds compares the generation of new objects, and after changes of labels and annotations, with upstream's
// strategies.
func TestGenerationOfKinds(t *testing.T) {
	rules := writeRules(t)
	const created = "create: generation 7 becomes"
	recorded := func(row *resources.Resource) bool { return rules[row.GroupVersionKind][created] != "" }
	eachKind(t, recorded, func(t *testing.T, o *kindObject) {
		want := rules[o.row.GroupVersionKind]
		generation := func(r *reply) int64 {
			m := &metav1.PartialObjectMetadata{}
			r.into(t, m)
			return m.Generation
		}
		sent := o.manifest.DeepCopy()
		if sent.GetName() != "" {
			sent.SetName(sent.GetName() + "2")
		}
		sent.SetGeneration(7)
		if r := o.send("POST", pathOf(o.row)+"?dryRun=All", asJSON(t, sent.Object)); r.code == 201 && want[created] != fmt.Sprint(generation(r)) {
			t.Errorf("created with generation 7, it has %d, want %s", generation(r), want[created])
		}
		for field, key := range map[string]string{"labels": "changed", "annotations": "example.com/changed"} {
			before := generation(o.mustSend("GET", o.path, ""))
			after := generation(o.mustSend("PATCH", o.path, asJSON(t, map[string]any{"metadata": map[string]any{field: map[string]any{key: "yes"}}}), "Content-Type", statusWrites["merge patch"]))
			if rule := "update of " + field + ": generation"; want[rule] != fmt.Sprintf("+%d", after-before) {
				t.Errorf("a change of the %s raises the generation by %d, want %s", field, after-before, want[rule])
			}
		}
	})
}

// TestStatusKeepsFieldsInAnnotations writes the status without the annotations in which upstream shows fields of the spec: they stay.
func TestStatusKeepsFieldsInAnnotations(t *testing.T) {
	h := start(t)
	template := `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`
	for plural, annotation := range map[string]string{"daemonsets": appsv1.DeprecatedTemplateGeneration, "deployments": appsv1.DeprecatedRollbackTo} {
		path := "/apis/apps/v1/namespaces/default/" + plural
		h.mustSend("POST", path, `{"metadata":{"name":"x","annotations":{"`+annotation+`":"1","example.com/a":"b"}},`+template+`}`)
		u := &unstructured.Unstructured{}
		h.mustSend("GET", path+"/x", "").into(t, &u.Object)
		u.SetAnnotations(nil)
		h.mustSend("PUT", path+"/x/status", asJSON(t, u.Object)).into(t, &u.Object)
		if got := u.GetAnnotations(); len(got) != 1 || got[annotation] != "1" {
			t.Errorf("%s: %v", plural, got)
		}
	}
}
