package apiserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// events returns the events of a watch until the deletion, each with whether the object is being deleted, its grace period and
// its finalizers.
func deletionEvents(t *testing.T, w watch.Interface) string {
	t.Helper()
	var all []string
	for event := range w.ResultChan() {
		m, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatalf("%+v", event)
		}
		text := string(event.Type)
		if m.GetDeletionTimestamp() != nil {
			text += fmt.Sprintf(" %d", ptr.Deref(m.GetDeletionGracePeriodSeconds(), -1))
		}
		all = append(all, text+strings.Join(append([]string{""}, m.GetFinalizers()...), " "))
		if event.Type == watch.Deleted {
			break
		}
	}
	return strings.Join(all, ", ")
}

// TestWatchesSeeDeletions checks the writes of deletions: an object of a kind with grace periods is marked before it is deleted,
// even without a grace period.
func TestWatchesSeeDeletions(t *testing.T) {
	h := start(t)
	pods := h.client().CoreV1().Pods("default")
	foreground := metav1.DeletePropagationForeground
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	for name, test := range map[string]struct {
		node    string
		deletes []metav1.DeleteOptions
		then    string // a patch
		want    string
	}{
		"no-node":           {deletes: []metav1.DeleteOptions{{}}, want: "ADDED, MODIFIED 0, DELETED 0"},
		"no-node-no-grace":  {deletes: []metav1.DeleteOptions{now}, want: "ADDED, MODIFIED 0, DELETED 0"},
		"node":              {node: "n", deletes: []metav1.DeleteOptions{{}, now}, want: "ADDED, MODIFIED 30, MODIFIED 0, DELETED 0"},
		"node-no-grace":     {node: "n", deletes: []metav1.DeleteOptions{now}, want: "ADDED, MODIFIED 0, DELETED 0"},
		"node-again":        {node: "n", deletes: []metav1.DeleteOptions{{}, {PropagationPolicy: &foreground}, now}, want: "ADDED, MODIFIED 30, MODIFIED 0, DELETED 0"},
		"node-foreground":   {node: "n", deletes: []metav1.DeleteOptions{{PropagationPolicy: &foreground}, now}, then: `{"metadata":{"finalizers":null}}`, want: "ADDED, MODIFIED 30 foregroundDeletion, MODIFIED 0 foregroundDeletion, DELETED 0 foregroundDeletion"},
		"no-node-finalizer": {deletes: []metav1.DeleteOptions{{PropagationPolicy: &foreground}}, then: `{"metadata":{"finalizers":null}}`, want: "ADDED, MODIFIED 0 foregroundDeletion, DELETED 0 foregroundDeletion"},
	} {
		w := must(pods.Watch(h.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name}))(t)
		p := pod(name)
		p.Spec.NodeName = test.node
		must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
		for _, opts := range test.deletes {
			if err := pods.Delete(h.ctx, name, opts); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if test.then != "" {
			h.mustSend("PATCH", "/api/v1/namespaces/default/pods/"+name, test.then, "Content-Type", statusWrites["merge patch"])
		}
		if got := deletionEvents(t, w); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		w.Stop()
	}
	maps := h.client().CoreV1().ConfigMaps("default")
	w := must(maps.Watch(h.ctx, metav1.ListOptions{FieldSelector: "metadata.name=a"}))(t)
	defer w.Stop()
	must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	if err := maps.Delete(h.ctx, "a", now); err != nil {
		t.Fatal(err)
	}
	if got := deletionEvents(t, w); got != "ADDED, DELETED" {
		t.Errorf("a ConfigMap: %s", got)
	}
}

// returned are the kinds whose registries upstream has configured to return the deleted object. Others return a Status.
var returned = []string{
	"v1 Namespace", "v1 PersistentVolume", "v1 PersistentVolumeClaim", "v1 Pod", "v1 PodTemplate", "v1 ResourceQuota", "v1 Service", "v1 ServiceAccount",
	"resource.k8s.io/v1 DeviceClass", "resource.k8s.io/v1 ResourceClaim", "resource.k8s.io/v1 ResourceClaimTemplate", "resource.k8s.io/v1 ResourceSlice",
	"resource.k8s.io/v1alpha3 ResourcePoolStatusRequest", "storage.k8s.io/v1 CSIDriver", "storage.k8s.io/v1 CSINode", "storage.k8s.io/v1 StorageClass",
	"storage.k8s.io/v1 VolumeAttachment", "storage.k8s.io/v1 VolumeAttributesClass",
}

// TestDeleteAnswersOfKinds deletes an object of each kind: the response has the kind that the OpenAPI
// document declares.
func TestDeleteAnswersOfKinds(t *testing.T) {
	eachKind(t, anyKind, func(t *testing.T, o *kindObject) {
		kind := o.row.GroupVersion().String() + " " + o.row.Kind
		want := "Status"
		if slices.Contains(returned, kind) || kind == "apiextensions.k8s.io/v1 CustomResourceDefinition" { // which is never gone at once
			want = o.row.Kind
		}
		o.mustSend("PATCH", o.path, `{"metadata":{"finalizers":null}}`, "Content-Type", mergeType)
		var answer metav1.TypeMeta
		o.mustSend("DELETE", o.path+"?propagationPolicy=Background", "").into(t, &answer)
		if answer.Kind != want {
			t.Errorf("the answer is a %s, want a %s", answer.Kind, want)
		}
		if o.row.Custom || o.row.Kind == "CustomResourceDefinition" {
			return
		}
		var document struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		group := "apis/" + o.row.GroupVersion().String()
		if o.row.Group == "" {
			group = "api/v1"
		}
		o.mustSend("GET", "/openapi/v3/"+group, "").into(t, &document)
		path := strings.Replace(pathOf(o.row), "/default/", "/{namespace}/", 1) + "/{name}"
		operation := string(document.Paths[path]["delete"])
		if isStatus := strings.Contains(operation, "meta.v1.Status"); isStatus != (want == "Status") {
			t.Errorf("the document says of the response to the deletion of a %s: %s", kind, operation)
		}
	})
}

// A client of old that asks not to orphan dependents learns that the object is not gone yet.
func TestDeleteIsAccepted(t *testing.T) {
	h := start(t)
	cm := configMap("a")
	cm.Finalizers = []string{"example.com/f"}
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	const path = "/api/v1/namespaces/default/configmaps/a"
	if r := h.send("DELETE", path, `{"kind":"DeleteOptions","apiVersion":"v1","orphanDependents":false}`); r.code != 202 {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := h.send("DELETE", path, ""); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// Webhooks see a deletion for each of its two writes, and each deletion of a collection without a name.
func TestWebhooksSeeDeletions(t *testing.T) {
	h := start(t)
	o := newObserver(t, allow)
	must(h.client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("v"), Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "v.example.com", ClientConfig: o.client, Rules: append(rulesFor("pods", registrationv1.Delete), rulesFor("configmaps", registrationv1.Delete)...),
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	if err := h.client().CoreV1().Pods("default").Delete(h.ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	old := func(rq *admissionv1.AdmissionRequest) (deleting bool) {
		var p corev1.Pod
		if err := json.Unmarshal(rq.OldObject.Raw, &p); err != nil {
			t.Fatal(err)
		}
		return p.DeletionTimestamp != nil
	}
	if seen := o.take(); len(seen) != 2 || seen[0].Name != "p" || old(seen[0]) || !old(seen[1]) {
		t.Errorf("the webhook saw %+v", seen)
	}
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	h.mustSend("DELETE", "/api/v1/namespaces/default/configmaps", "")
	for _, rq := range o.take() {
		if rq.Name != "" || rq.OldObject.Raw == nil {
			t.Errorf("the webhook saw %+v", rq)
		}
	}
}

// TestDeleteUnreadable deletes an object that cannot be decoded, which needs an option and a permission. Objects that can be
// decoded are not deleted so.
func TestDeleteUnreadable(t *testing.T) {
	const collection = "/api/v1/namespaces/default/configmaps"
	const ignore = "ignoreStoreReadErrorWithClusterBreakingPotential"
	const asOption = `{"kind":"DeleteOptions","apiVersion":"v1","` + ignore + `":true}`
	h := start(t)
	client := h.client()
	must(client.CoreV1().ConfigMaps("default").Create(h.ctx, configMap("good"), metav1.CreateOptions{}))(t)
	if _, err := h.store.Put(h.ctx, "/registry/configmaps/default/bad", []byte("k8s\x00no protobuf"), 0); err != nil {
		t.Fatal(err)
	}
	wantReply(t, h.send("DELETE", collection+"/good", asOption), 409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on configmaps "good": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/good, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`)
	wantReply(t, h.send("DELETE", collection+"/none?"+ignore+"=true", ""), 404, metav1.StatusReasonNotFound, "")
	wantReply(t, h.send("DELETE", collection, asOption), 422, metav1.StatusReasonInvalid, "is not allowed with DELETECOLLECTION, try again after removing the option")
	wantReply(t, h.send("DELETE", collection+"/bad", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":1,"`+ignore+`":true}`), 422, metav1.StatusReasonInvalid, "cannot be set together with .gracePeriodSeconds")
	if r := h.send("DELETE", collection+"/bad", ""); r.code != 500 {
		t.Errorf("a plain delete: %d %s", r.code, r.body)
	}
	clerk := h.server.Config("clerk")
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("clerk"), Rules: rules("delete", "", "configmaps")},
		&rbacv1.RoleBinding{ObjectMeta: named("clerk"), RoleRef: roleRef("Role", "clerk"), Subjects: []rbacv1.Subject{{Kind: "User", Name: "clerk"}}},
	)
	wantReply(t, h.raw(clerk, "DELETE", collection+"/bad", asOption), 403, metav1.StatusReasonForbidden, `not permitted to do "unsafe-delete-ignore-read-errors"`)
	if r := h.send("DELETE", collection+"/bad?dryRun=All&"+ignore+"=true", ""); r.code != 200 {
		t.Errorf("a dry run: %d %s", r.code, r.body)
	}
	s := h.mustSend("DELETE", collection+"/bad", asOption).status(t)
	if s.Status != metav1.StatusSuccess || s.Code != 200 || s.Details == nil || s.Details.Name != "bad" || s.Details.Kind != "ConfigMap" {
		t.Errorf("%+v %+v", s, s.Details)
	}
	wantReply(t, h.send("DELETE", collection+"/bad", asOption), 404, metav1.StatusReasonNotFound, "")
}
