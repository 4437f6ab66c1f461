package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applyautoscalingv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/auth"
)

// owners formats the managed fields of an object: "manager operation[/subresource]".
func owners(m metav1.Object) string {
	var all []string
	for _, e := range m.GetManagedFields() {
		entry := e.Manager + " " + string(e.Operation)
		if e.Subresource != "" {
			entry += "/" + e.Subresource
		}
		all = append(all, entry)
	}
	return strings.Join(all, ", ")
}

func TestServerSideApply(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		want := func(data map[string]string) *applycorev1.ConfigMapApplyConfiguration {
			return applycorev1.ConfigMap("a", "default").WithData(data)
		}
		made := must(maps.Apply(h.ctx, want(map[string]string{"k": "1", "l": "1"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
		if made.UID == "" || made.Data["k"] != "1" || owners(made) != "one Apply" {
			t.Fatalf("applied: %+v", made)
		}
		same := must(maps.Apply(h.ctx, want(map[string]string{"k": "1", "l": "1"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
		if same.ResourceVersion != made.ResourceVersion {
			t.Fatal("applying the same again made a revision")
		}
		less := must(maps.Apply(h.ctx, want(map[string]string{"k": "1"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
		if _, still := less.Data["l"]; still {
			t.Fatal("a field that is no longer applied stays")
		}
		_, err := maps.Apply(h.ctx, want(map[string]string{"k": "2"}), metav1.ApplyOptions{FieldManager: "two"})
		s := wantStatus(t, err, 409, metav1.StatusReasonConflict, `Apply failed with 1 conflict: conflict with "one": .data.k`)
		if len(s.Details.Causes) != 1 || s.Details.Causes[0] != (metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "one"`, Field: ".data.k"}) {
			t.Fatalf("causes: %+v", s.Details.Causes)
		}
		taken := must(maps.Apply(h.ctx, want(map[string]string{"k": "2"}), metav1.ApplyOptions{FieldManager: "two", Force: true}))(t)
		if taken.Data["k"] != "2" || !strings.Contains(owners(taken), "two Apply") {
			t.Fatalf("by force: %v, owned by %s", taken.Data, owners(taken))
		}
	})
}

// An update takes over the fields that it changes from their appliers.
func TestManagedFieldsThroughUpdates(t *testing.T) {
	h := start(t)
	cfg := overHTTPS().config(h)
	cfg.UserAgent = "editor/v1 (something)"
	deployments := h.client(cfg).AppsV1().Deployments("default")
	d := deployment("d", 1)
	made := must(deployments.Create(h.ctx, d, metav1.CreateOptions{}))(t)
	if owners(made) != "editor Update" {
		t.Fatalf("created: %s", owners(made))
	}
	made.Status.Replicas = 1
	made = must(deployments.UpdateStatus(h.ctx, made, metav1.UpdateOptions{FieldManager: "status-writer"}))(t)
	if owners(made) != "editor Update, status-writer Update/status" {
		t.Fatalf("after a status update: %s", owners(made))
	}
	_, err := deployments.Apply(h.ctx, applyappsv1.Deployment("d", "default").WithSpec(applyappsv1.DeploymentSpec().WithReplicas(5)), metav1.ApplyOptions{FieldManager: "scaler"})
	wantStatus(t, err, 409, metav1.StatusReasonConflict, `Apply failed with 1 conflict: conflict with "editor" using apps/v1: .spec.replicas`)
	made = must(deployments.Apply(h.ctx, applyappsv1.Deployment("d", "default").WithSpec(applyappsv1.DeploymentSpec().WithReplicas(5)), metav1.ApplyOptions{FieldManager: "scaler", Force: true}))(t)
	if *made.Spec.Replicas != 5 || made.Spec.Template.Spec.Containers[0].Image == "" || made.Generation != 2 {
		t.Fatalf("applied: %+v", made.Spec)
	}
	if !strings.Contains(owners(made), "scaler Apply") {
		t.Fatalf("after an apply: %s", owners(made))
	}
	made.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	if made = must(deployments.Update(h.ctx, made, metav1.UpdateOptions{}))(t); len(made.ManagedFields) != 0 {
		t.Fatalf("the managed fields cannot be reset: %s", owners(made))
	}
}

// Times in managed fields are cluster time.
func TestManagedFieldsTime(t *testing.T) {
	h, virtual := startVirtual(t)
	h.advance(virtual, 1000*time.Hour)
	maps := h.client().CoreV1().ConfigMaps("default")
	made := must(maps.Apply(h.ctx, applycorev1.ConfigMap("a", "default").WithData(map[string]string{"k": "1"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
	if at := made.ManagedFields[0].Time; at == nil || !at.Equal(&made.CreationTimestamp) {
		t.Fatalf("managed at %v, created at %v", at, made.CreationTimestamp)
	}
	h.advance(virtual, time.Hour)
	again := must(maps.Apply(h.ctx, applycorev1.ConfigMap("a", "default").WithData(map[string]string{"k": "1"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
	if again.ResourceVersion != made.ResourceVersion {
		t.Fatal("time alone made a revision")
	}
}

func TestApplyThatFails(t *testing.T) {
	h := start(t)
	const path = "/apis/apps/v1/namespaces/default/deployments/"
	body := asJSON(t, appliedDeployment())
	for _, c := range []struct {
		query, body string
		code        int32
		reason      metav1.StatusReason
		text        string
	}{
		{"d", body, 422, metav1.StatusReasonInvalid, "fieldManager: Required value: is required for apply patch"},
		{"d?fieldManager=m&fieldValidation=Strict", "kind: Deployment\nkind: Deployment\n", 400, metav1.StatusReasonBadRequest, ""},
		{"d?fieldManager=m", "a: b: c", 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		{"d?fieldManager=m", "[1]", 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		{"d?fieldManager=m", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"d"}}`, 400, metav1.StatusReasonBadRequest, "invalid object type: /v1, Kind=Pod"},
		{"d?fieldManager=m", strings.Replace(body, `"replicas":1`, `"replicas":1,"bogus":1`, 1), 500, metav1.StatusReasonUnknown, ".spec.bogus: field not declared in schema"},
		{"d?fieldManager=m", strings.Replace(body, `"replicas":1`, `"replicas":"one"`, 1), 500, metav1.StatusReasonUnknown, ".spec.replicas: expected numeric (int or float), got string"},
		{"other?fieldManager=m", body, 400, metav1.StatusReasonBadRequest, "the name of the object (d) does not match the name on the URL (other)"},
		{"d?fieldManager=m", strings.Replace(body, `"metadata":{`, `"metadata":{"managedFields":[{}],`, 1), 400, metav1.StatusReasonBadRequest, "metadata.managedFields must be nil"},
		{"d?fieldManager=m", strings.Replace(body, `"metadata":{`, `"metadata":{"uid":"u",`, 1), 409, metav1.StatusReasonConflict, "uid mismatch: the provided object specified uid u, and no existing object was found"},
		{"d?fieldManager=m", strings.Replace(body, `"app:1"`, `""`, 1), 422, metav1.StatusReasonInvalid, "spec.template.spec.containers[0].image: Required value"},
		{"d?fieldManager=" + strings.Repeat("m", 129), body, 422, metav1.StatusReasonInvalid, "fieldManager: Too long"},
	} {
		r := h.send("PATCH", path+c.query, c.body, "Content-Type", "application/apply-patch+yaml")
		if r.code < 400 {
			t.Errorf("%s %.80s: %d %s", c.query, c.body, r.code, r.body)
			continue
		}
		s := r.status(t)
		if r.code != int(c.code) || s.Reason != c.reason || !strings.Contains(s.Message, c.text) {
			t.Errorf("%s %.80s: %d %s %.400q\nwant %d %s %q", c.query, c.body, r.code, s.Reason, s.Message, c.code, c.reason, c.text)
		}
	}
	if list := must(h.client().AppsV1().Deployments("default").List(h.ctx, metav1.ListOptions{}))(t); len(list.Items) != 0 {
		t.Fatalf("stored: %+v", list.Items)
	}
}

func appliedDeployment() *appsv1.Deployment {
	d := deployment("d", 1)
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d.Spec.Template.Spec.Containers[0].Image = "app:1"
	return d
}

// Status and scale are applied to the subresource only, and change nothing else.
func TestApplySubresources(t *testing.T) {
	h := start(t)
	must(h.client().AppsV1().Deployments("default").Create(h.ctx, deployment("d", 1), metav1.CreateOptions{}))(t)
	deployments := h.client().AppsV1().Deployments("default")
	applied := must(deployments.ApplyStatus(h.ctx, applyappsv1.Deployment("d", "default").WithStatus(applyappsv1.DeploymentStatus().WithReplicas(4)), metav1.ApplyOptions{FieldManager: "m"}))(t)
	if applied.Status.Replicas != 4 || *applied.Spec.Replicas != 1 || owners(applied) == "" {
		t.Fatalf("applied: %+v %s", applied.Status, owners(applied))
	}
	body := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","namespace":"default"},"spec":{"replicas":7}}`
	r := h.send("PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale?fieldManager=m&force=true", body, "Content-Type", "application/apply-patch+yaml")
	if r.code != 200 || !strings.Contains(string(r.body), `"replicas":7`) {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if d := must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t); *d.Spec.Replicas != 7 || d.Status.Replicas != 4 {
		t.Fatalf("scaled: %+v", d)
	}
	r = h.send("PATCH", "/apis/apps/v1/namespaces/default/deployments/none/status?fieldManager=m", strings.ReplaceAll(asJSON(t, appliedDeployment()), `"d"`, `"none"`), "Content-Type", "application/apply-patch+yaml")
	wantReply(t, r, 404, metav1.StatusReasonNotFound, fmt.Sprintf("deployments.apps %q not found", "none"))
}

// Components in the process own the fields that they write under their names in a real
// cluster, and a conflicting apply reports those names.
func TestComponentsOwnTheirFields(t *testing.T) {
	h := start(t)
	as := func(user string) *kubernetes.Clientset {
		cfg := h.server.Config(user, auth.GroupMasters)
		cfg.UserAgent = "minikcm/something"
		return h.client(cfg)
	}
	controllers, kubelet := as("system:kube-controller-manager"), as("system:node:n1")
	made := must(controllers.CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	made.Status.PodIPs = []corev1.PodIP{{IP: "10.244.0.2"}}
	made.Status.PodIP = "10.244.0.2"
	made.ManagedFields = nil // as from an informer that strips them
	made = must(kubelet.CoreV1().Pods("default").UpdateStatus(h.ctx, made, metav1.UpdateOptions{}))(t)
	if owners(made) != "kube-controller-manager Update, kubelet Update/status" {
		t.Fatalf("owners: %s", owners(made))
	}
	const wanted = `{"f:status":{"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.244.0.2\"}":{".":{},"f:ip":{}}}}}`
	for _, e := range made.ManagedFields {
		if e.Manager == "kubelet" && string(e.FieldsV1.GetRawBytes()) != wanted {
			t.Errorf("the kubelet's: %s", e.FieldsV1.GetRawBytes())
		}
	}
	applied := applycorev1.Pod("p", "default").WithSpec(applycorev1.PodSpec().WithContainers(applycorev1.Container().WithName("main").WithImage("example.com/app:2")))
	_, err := h.client().CoreV1().Pods("default").Apply(h.ctx, applied, metav1.ApplyOptions{FieldManager: "me"})
	wantStatus(t, err, 409, metav1.StatusReasonConflict, `conflict with "kube-controller-manager" using v1: .spec.containers[name="main"].image`)
	applied.Spec.Containers[0].WithImage("example.com/app:1")
	shared := must(h.client().CoreV1().Pods("default").Apply(h.ctx, applied, metav1.ApplyOptions{FieldManager: "me"}))(t)
	if owners(shared) != "me Apply, kube-controller-manager Update, kubelet Update/status" {
		t.Errorf("owners: %s", owners(shared))
	}
}

// The manager that scales owns the number of replicas, both of the scale and of its
// parent.
func TestScaleOwnership(t *testing.T) {
	h := start(t)
	deployments := h.client().AppsV1().Deployments("default")
	applied := func(replicas int32) *applyappsv1.DeploymentApplyConfiguration {
		return applyappsv1.Deployment("d", "default").WithSpec(applyappsv1.DeploymentSpec().WithReplicas(replicas))
	}
	must(deployments.Create(h.ctx, deployment("d", 1), metav1.CreateOptions{FieldManager: "creator"}))(t)
	scale := must(deployments.GetScale(h.ctx, "d", metav1.GetOptions{}))(t)
	scale.Spec.Replicas = 3
	must(deployments.UpdateScale(h.ctx, "d", scale, metav1.UpdateOptions{FieldManager: "autoscaler"}))(t)
	d := must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t)
	if owners(d) != "autoscaler Update/scale, creator Update" && owners(d) != "creator Update, autoscaler Update/scale" {
		t.Fatalf("owners: %s", owners(d))
	}
	_, err := deployments.Apply(h.ctx, applied(5), metav1.ApplyOptions{FieldManager: "me"})
	wantStatus(t, err, 409, metav1.StatusReasonConflict, `conflict with "autoscaler" with subresource "scale" using apps/v1: .spec.replicas`)
	must(deployments.Apply(h.ctx, applied(5), metav1.ApplyOptions{FieldManager: "me", Force: true}))(t)
	_, err = deployments.ApplyScale(h.ctx, "d", applyautoscalingv1.Scale().WithName("d").WithNamespace("default").WithSpec(applyautoscalingv1.ScaleSpec().WithReplicas(7)), metav1.ApplyOptions{FieldManager: "autoscaler"})
	wantStatus(t, err, 409, metav1.StatusReasonConflict, `conflict with "me": .spec.replicas`)
	must(deployments.ApplyScale(h.ctx, "d", applyautoscalingv1.Scale().WithName("d").WithNamespace("default").WithSpec(applyautoscalingv1.ScaleSpec().WithReplicas(7)), metav1.ApplyOptions{FieldManager: "autoscaler", Force: true}))(t)
	d = must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t)
	if *d.Spec.Replicas != 7 || owners(d) != "autoscaler Apply/scale, creator Update" {
		t.Fatalf("%d replicas, owners: %s", *d.Spec.Replicas, owners(d))
	}
}
