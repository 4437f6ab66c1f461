package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// An object with finalizers stays, marked as being deleted, until the last finalizer is
// removed.
func TestFinalizers(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		cm := configMap("a")
		cm.Finalizers = []string{"example.com/one", "example.com/two"}
		must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t)
		if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		marked := must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t)
		if marked.DeletionTimestamp == nil || marked.DeletionGracePeriodSeconds == nil || *marked.DeletionGracePeriodSeconds != 0 {
			t.Fatalf("marked: %+v", marked.ObjectMeta)
		}
		if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatalf("a second delete: %v", err)
		}
		again := must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t)
		if again.ResourceVersion != marked.ResourceVersion {
			t.Fatal("the second delete changed the object")
		}
		again.Finalizers = append(again.Finalizers, "example.com/three")
		_, err := maps.Update(h.ctx, again, metav1.UpdateOptions{})
		wantStatus(t, err, 422, metav1.StatusReasonInvalid, "no new finalizers can be added if the object is being deleted")
		must(maps.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/two"]}}`), metav1.PatchOptions{}))(t)
		must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t)
		must(maps.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
		if _, err := maps.Get(h.ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("with no finalizer left: %v", err)
		}
	})
}

func TestDeletePreconditions(t *testing.T) {
	h := start(t)
	maps := h.client().CoreV1().ConfigMaps("default")
	made := must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	uid, version := types.UID("other"), "1"
	s := wantStatus(t, maps.Delete(h.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}), 409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (`+string(made.UID)+`). The object might have been deleted and then recreated`)
	if s.Details == nil || s.Details.Name != "a" {
		t.Fatalf("details: %+v", s.Details)
	}
	wantStatus(t, maps.Delete(h.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}), 409, metav1.StatusReasonConflict,
		"the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ("+made.ResourceVersion+"). The object might have been modified")
	if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID, ResourceVersion: &made.ResourceVersion}}); err != nil {
		t.Fatal(err)
	}
}

// Namespaces and definitions have another text for an unmet precondition.
func TestDeletePreconditionsOfMarkedKinds(t *testing.T) {
	h := start(t)
	h.mustSend("POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"as.b.io"},"spec":{"group":"b.io","names":{"kind":"A","plural":"as"},
		"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	for path, text := range map[string]string{
		"/api/v1/namespaces/n": `on namespaces \"n\": Precondition failed: `,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.b.io": `on customresourcedefinitions.apiextensions.k8s.io \"as.b.io\": precondition failed: `,
	} {
		h.has(t, 409, text+"UID in precondition: x, UID in object meta: ", "DELETE", path, `{"preconditions":{"uid":"x"}}`)
		h.has(t, 409, text+"ResourceVersion in precondition: 1, ResourceVersion in object meta: ", "DELETE", path, `{"preconditions":{"resourceVersion":"1"}}`)
	}
}

// A create of an object that waits for its finalizers says why it exists, also in a dry run.
func TestCreateOfWhatIsBeingDeleted(t *testing.T) {
	h := start(t)
	const all, body = "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"held","finalizers":["example.com/hold"]}}`
	h.mustSend("POST", all, body)
	h.mustSend("DELETE", all+"/held", "")
	for _, options := range []string{"", "?dryRun=All"} {
		h.has(t, 409, `object is being deleted: configmaps \"held\" already exists`, "POST", all+options, body)
	}
}

// The response to a delete shows the state of the object.
func TestDeleteAnswers(t *testing.T) {
	h := start(t)
	const path = "/api/v1/namespaces/default/configmaps/a"
	made := must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	s := h.mustSend("DELETE", path, "").status(t)
	if s.Status != metav1.StatusSuccess || s.Details == nil || s.Details.Name != "a" || s.Details.Kind != "configmaps" || s.Details.UID != made.UID {
		t.Fatalf("%+v %+v", s, s.Details)
	}
	cm := configMap("a")
	cm.Finalizers = []string{"example.com/f"}
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	var marked corev1.ConfigMap
	h.mustSend("DELETE", path, `{"kind":"DeleteOptions","apiVersion":"v1"}`).into(t, &marked)
	if marked.Kind != "ConfigMap" || marked.DeletionTimestamp == nil {
		t.Fatalf("%+v", marked)
	}
	var list corev1.ConfigMapList
	h.mustSend("PATCH", path, `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
	fill(t, h, 2)
	h.mustSend("DELETE", "/api/v1/namespaces/default/configmaps", "").into(t, &list)
	if list.Kind != "ConfigMapList" || len(list.Items) != 2 {
		t.Fatalf("%+v", list)
	}
}

// The propagation policy becomes the finalizers that the garbage collector acts on.
func TestPropagation(t *testing.T) {
	h := start(t)
	replicaSets := h.client().CoreV1().ConfigMaps("default")
	yes, no := true, false
	foreground, orphan, background := metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground
	for name, c := range map[string]struct {
		opts   metav1.DeleteOptions
		before []string
		want   string // the finalizers; "gone"
	}{
		"background":      {metav1.DeleteOptions{PropagationPolicy: &background}, nil, "gone"},
		"unset":           {metav1.DeleteOptions{}, nil, "gone"},
		"foreground":      {metav1.DeleteOptions{PropagationPolicy: &foreground}, nil, metav1.FinalizerDeleteDependents},
		"orphan":          {metav1.DeleteOptions{PropagationPolicy: &orphan}, nil, metav1.FinalizerOrphanDependents},
		"orphan-old":      {metav1.DeleteOptions{OrphanDependents: &yes}, nil, metav1.FinalizerOrphanDependents},
		"no-orphan-old":   {metav1.DeleteOptions{OrphanDependents: &no}, nil, "gone"},
		"was-foreground":  {metav1.DeleteOptions{PropagationPolicy: &orphan}, []string{metav1.FinalizerDeleteDependents}, metav1.FinalizerOrphanDependents},
		"was-orphan":      {metav1.DeleteOptions{}, []string{metav1.FinalizerOrphanDependents}, metav1.FinalizerOrphanDependents},
		"others-are-kept": {metav1.DeleteOptions{PropagationPolicy: &foreground}, []string{"example.com/f"}, "example.com/f " + metav1.FinalizerDeleteDependents},
	} {
		cm := configMap(name)
		cm.Finalizers = c.before
		must(replicaSets.Create(h.ctx, cm, metav1.CreateOptions{}))(t)
		if err := replicaSets.Delete(h.ctx, name, c.opts); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := "gone"
		if left, err := replicaSets.Get(h.ctx, name, metav1.GetOptions{}); err == nil {
			got = strings.Join(left.Finalizers, " ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	bad := metav1.DeletionPropagation("sideways")
	wantStatus(t, replicaSets.Delete(h.ctx, "x", metav1.DeleteOptions{PropagationPolicy: &bad}), 422, metav1.StatusReasonInvalid, "propagationPolicy: Unsupported value")
	wantStatus(t, replicaSets.Delete(h.ctx, "x", metav1.DeleteOptions{PropagationPolicy: &orphan, OrphanDependents: &yes}), 422, metav1.StatusReasonInvalid, "orphanDependents and deletionPropagation cannot be both set")
}

// A scheduled pod terminates gracefully; a second delete can shorten the grace period
// but not extend it.
func TestGracefulDelete(t *testing.T) {
	h, _ := startVirtual(t)
	pods := h.client().CoreV1().Pods("default")
	p := pod("p")
	p.Spec.NodeName = "n"
	must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
	remove := func(seconds *int64) *corev1.Pod {
		if err := pods.Delete(h.ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: seconds}); err != nil {
			t.Fatal(err)
		}
		got, err := pods.Get(h.ctx, "p", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return got
	}
	first := remove(nil)
	if *first.DeletionGracePeriodSeconds != 30 || first.DeletionTimestamp.Sub(first.CreationTimestamp.Time).Seconds() != 30 {
		t.Fatalf("at first: %+v", first.ObjectMeta)
	}
	longer := int64(60)
	if same := remove(&longer); same.ResourceVersion != first.ResourceVersion {
		t.Fatal("the time was stretched")
	}
	shorter := int64(10)
	if cut := remove(&shorter); *cut.DeletionGracePeriodSeconds != 10 || cut.DeletionTimestamp.Sub(cut.CreationTimestamp.Time).Seconds() != 10 {
		t.Fatalf("cut short: %+v", cut.ObjectMeta)
	}
	now := int64(0)
	if left := remove(&now); left != nil {
		t.Fatalf("at once: %+v", left)
	}
	must(pods.Create(h.ctx, pod("unscheduled"), metav1.CreateOptions{}))(t)
	if err := pods.Delete(h.ctx, "unscheduled", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(h.ctx, "unscheduled", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a pod that was on no node: %v", err)
	}
}

func TestDeleteCollection(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		fill(t, h, 6)
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		if err := maps.DeleteCollection(h.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "parity=odd"}); err != nil {
			t.Fatal(err)
		}
		if left := names(must(maps.List(h.ctx, metav1.ListOptions{}))(t)); left != "m00 m02 m04" {
			t.Fatalf("left: %s", left)
		}
		if err := maps.DeleteCollection(h.ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=m00"}); err != nil {
			t.Fatal(err)
		}
		if err := maps.DeleteCollection(h.ctx, metav1.DeleteOptions{}, metav1.ListOptions{Limit: 1}); err != nil {
			t.Fatal(err)
		}
		if left := must(maps.List(h.ctx, metav1.ListOptions{}))(t); len(left.Items) != 1 {
			t.Fatalf("left: %s", names(left))
		}
		if n := len(writesOf(h, "m01")); n != 2 {
			t.Fatalf("%d writes of a deleted object", n)
		}
	})
}

func TestDeleteOptionsInEveryForm(t *testing.T) {
	h := start(t)
	const path = "/apis/apps/v1/namespaces/default/deployments/d"
	for _, c := range []struct {
		query, contentType, body string
		code                     int
	}{
		{"?propagationPolicy=Orphan", "", "", 200},
		{"", "application/json", `{"propagationPolicy":"Orphan"}`, 200},
		{"", "application/json", `{"kind":"DeleteOptions","apiVersion":"apps/v1","propagationPolicy":"Orphan"}`, 200},
		{"", "application/json", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}`, 200},
		{"", "application/json", `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Orphan"}`, 200},
		{"", "application/yaml", "propagationPolicy: Orphan\n", 200},
		{"", "application/json", `{"kind":"Pod","apiVersion":"v1"}`, 400},
		{"", "application/json", `{"gracePeriodSeconds":"soon"}`, 400},
		{"", "text/plain", `x`, 415},
		{"?gracePeriodSeconds=soon", "", "", 400},
	} {
		d := deployment("d", 1)
		must(h.client().AppsV1().Deployments("default").Create(h.ctx, d, metav1.CreateOptions{}))(t)
		r := h.send("DELETE", path+c.query, c.body, "Content-Type", c.contentType)
		if r.code != c.code || r.code == 200 && !strings.Contains(string(r.body), `"orphan"`) {
			t.Errorf("%+v: %d %s", c, r.code, r.body)
		}
		h.send("PATCH", path, `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
		h.send("DELETE", path, `{"propagationPolicy":"Background"}`)
	}
}
