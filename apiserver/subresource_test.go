package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// The status changes only through the status subresource, which changes nothing else.
func TestStatusIsolation(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		deployments := h.client(cfg).AppsV1().Deployments("default")
		d := deployment("d", 1)
		d.Status.Replicas = 5
		d = must(deployments.Create(h.ctx, d, metav1.CreateOptions{}))(t)
		if d.Status.Replicas != 0 {
			t.Fatal("a status was created")
		}
		d.Status.Replicas, d.Labels = 5, map[string]string{"l": "1"}
		if d = must(deployments.Update(h.ctx, d, metav1.UpdateOptions{}))(t); d.Status.Replicas != 0 || d.Labels["l"] != "1" {
			t.Fatalf("an update changed the status: %+v", d)
		}
		two := int32(2)
		d.Status.Replicas, d.Spec.Replicas = 5, &two
		if d = must(deployments.UpdateStatus(h.ctx, d, metav1.UpdateOptions{}))(t); d.Status.Replicas != 5 || *d.Spec.Replicas != 1 {
			t.Fatalf("a status update: %+v", d)
		}
		d = must(deployments.Patch(h.ctx, "d", types.MergePatchType, []byte(`{"spec":{"replicas":9},"status":{"replicas":6}}`), metav1.PatchOptions{}, "status"))(t)
		if d.Status.Replicas != 6 || *d.Spec.Replicas != 1 {
			t.Fatalf("a status patch: %+v", d)
		}
		d = must(deployments.Patch(h.ctx, "d", types.MergePatchType, []byte(`{"spec":{"replicas":9},"status":{"replicas":7}}`), metav1.PatchOptions{}))(t)
		if d.Status.Replicas != 6 || *d.Spec.Replicas != 9 {
			t.Fatalf("a patch: %+v", d)
		}
		stale := d.DeepCopy()
		must(deployments.UpdateStatus(h.ctx, withReplicas(d, 8), metav1.UpdateOptions{}))(t)
		_, err := deployments.UpdateStatus(h.ctx, withReplicas(stale, 9), metav1.UpdateOptions{})
		wantStatus(t, err, 409, metav1.StatusReasonConflict, staleMessage)
	})
}

func TestScale(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		deployments := h.client(cfg).AppsV1().Deployments("default")
		d := must(deployments.Create(h.ctx, deployment("d", 1), metav1.CreateOptions{}))(t)
		scale := must(deployments.GetScale(h.ctx, "d", metav1.GetOptions{}))(t)
		if scale.Spec.Replicas != 1 || scale.Status.Selector != "app=d" || scale.UID != d.UID || scale.ResourceVersion != d.ResourceVersion || scale.Name != "d" {
			t.Fatalf("scale: %+v", scale)
		}
		scale.Spec.Replicas = 4
		scaled := must(deployments.UpdateScale(h.ctx, "d", scale, metav1.UpdateOptions{}))(t)
		if scaled.Spec.Replicas != 4 || scaled.ResourceVersion == scale.ResourceVersion {
			t.Fatalf("scaled: %+v", scaled)
		}
		_, err := deployments.UpdateScale(h.ctx, "d", scale, metav1.UpdateOptions{})
		wantStatus(t, err, 409, metav1.StatusReasonConflict, staleMessage)
		scaled.Spec.Replicas = -1
		_, err = deployments.UpdateScale(h.ctx, "d", scaled, metav1.UpdateOptions{})
		wantStatus(t, err, 422, metav1.StatusReasonInvalid, "spec.replicas: Invalid value: -1: must be greater than or equal to 0")
		if got := must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t); *got.Spec.Replicas != 4 || got.Generation != 2 {
			t.Fatalf("the parent: %+v", got)
		}
		must(deployments.Patch(h.ctx, "d", types.MergePatchType, []byte(`{"spec":{"replicas":6}}`), metav1.PatchOptions{}, "scale"))(t)
		if got := must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t); *got.Spec.Replicas != 6 {
			t.Fatalf("patched: %+v", got.Spec)
		}
	})
}

// TestSubresourceOfAnother writes subresources with the UID of another object.
func TestSubresourceOfAnother(t *testing.T) {
	h := start(t)
	h.mustSend("POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	h.mustSend("POST", "/api/v1/namespaces/default/replicationcontrollers", `{"metadata":{"name":"r"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	for path, body := range map[string]string{
		"pods/p/status":                  `{"metadata":{"name":"p","uid":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		"pods/p/ephemeralcontainers":     `{"metadata":{"name":"p","uid":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		"pods/p/resize":                  `{"metadata":{"name":"p","uid":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		"replicationcontrollers/r/scale": `{"metadata":{"name":"r","uid":"x"},"spec":{"replicas":2}}`,
	} {
		plural, _, _ := strings.Cut(path, "/")
		wantReply(t, h.send("PUT", "/api/v1/namespaces/default/"+path, body), 409, metav1.StatusReasonConflict, "Operation cannot be fulfilled on "+plural+` "`)
	}
}

func TestBinding(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		pods := h.client(cfg).CoreV1().Pods("default")
		must(pods.Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
		bind := func(name, node string) error {
			return pods.Bind(h.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{})
		}
		other := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "x"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
		wantStatus(t, pods.Bind(h.ctx, other, metav1.CreateOptions{}), 409, metav1.StatusReasonConflict, `pods "p": StorageError: invalid object`)
		if err := bind("p", "n1"); err != nil {
			t.Fatal(err)
		}
		if bound := must(pods.Get(h.ctx, "p", metav1.GetOptions{}))(t); bound.Spec.NodeName != "n1" || len(bound.Status.Conditions) != 1 || bound.Status.Conditions[0].Type != corev1.PodScheduled {
			t.Fatalf("bound: %+v", bound)
		}
		wantStatus(t, bind("p", "n2"), 409, metav1.StatusReasonConflict, `pod p is already assigned to node "n1"`)
		wantStatus(t, bind("none", "n1"), 404, metav1.StatusReasonNotFound, `pods "none" not found`)
		wantStatus(t, bind("p", ""), 500, metav1.StatusReasonUnknown, "target.name: Required value")
		r := h.raw(cfg, "POST", "/api/v1/namespaces/default/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":"n3"}}`, "Content-Type", "application/json")
		wantReply(t, r, 409, metav1.StatusReasonConflict, `is already assigned`)
		r = h.raw(cfg, "POST", "/api/v1/namespaces/default/pods/p/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"q"},"target":{"name":"n3"}}`, "Content-Type", "application/json")
		wantReply(t, r, 400, metav1.StatusReasonBadRequest, "name in URL does not match name in Binding object")
		if writes := writesOf(h, "p"); len(writes) != 2 || writes[1].Subresource != "binding" {
			t.Fatalf("recorded: %+v", writes)
		}
	})
}

func TestEviction(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		pods := h.client(cfg).CoreV1().Pods("default")
		p := pod("p")
		p.Spec.NodeName = "n"
		must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
		seconds := int64(7)
		evict := func(name string) error {
			return pods.EvictV1(h.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &seconds}})
		}
		unknown := metav1.DeletionPropagation("x")
		err := pods.EvictV1(h.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, DeleteOptions: &metav1.DeleteOptions{PropagationPolicy: &unknown}})
		wantStatus(t, err, 422, metav1.StatusReasonInvalid, "propagationPolicy: Unsupported value")
		if err := evict("p"); err != nil {
			t.Fatal(err)
		}
		if ending := must(pods.Get(h.ctx, "p", metav1.GetOptions{}))(t); ending.DeletionTimestamp == nil || *ending.DeletionGracePeriodSeconds != 7 {
			t.Fatalf("evicted: %+v", ending.ObjectMeta)
		}
		if err := evict("none"); !apierrors.IsNotFound(err) {
			t.Fatalf("evicted what is not there: %v", err)
		}
	})
}

// A namespace is deleted when its controller has emptied it; meanwhile creates are
// rejected.
func TestNamespaceTermination(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		client := h.client(cfg)
		namespaces := client.CoreV1().Namespaces()
		made := must(namespaces.Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, metav1.CreateOptions{}))(t)
		if made.Status.Phase != corev1.NamespaceActive || len(made.Spec.Finalizers) != 1 || made.Labels[corev1.LabelMetadataName] != "ns" {
			t.Fatalf("created: %+v", made)
		}
		cm := configMap("a")
		cm.Namespace = "ns"
		must(client.CoreV1().ConfigMaps("ns").Create(h.ctx, cm, metav1.CreateOptions{}))(t)
		if err := namespaces.Delete(h.ctx, "ns", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		ending := must(namespaces.Get(h.ctx, "ns", metav1.GetOptions{}))(t)
		if ending.Status.Phase != corev1.NamespaceTerminating || ending.DeletionTimestamp == nil {
			t.Fatalf("ending: %+v", ending)
		}
		cm.Name = "b"
		_, err := client.CoreV1().ConfigMaps("ns").Create(h.ctx, cm, metav1.CreateOptions{})
		wantStatus(t, err, 403, metav1.StatusReasonForbidden, `configmaps "b" is forbidden: unable to create new content in namespace ns because it is being terminated`)
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			t.Fatalf("no cause: %v", err)
		}
		must(client.CoreV1().ConfigMaps("ns").Patch(h.ctx, "a", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{}))(t)
		ending.Spec.Finalizers = nil
		if kept := must(namespaces.Update(h.ctx, ending, metav1.UpdateOptions{}))(t); len(kept.Spec.Finalizers) != 1 {
			t.Fatal("an update took the finalizers")
		}
		ending.ResourceVersion = ""
		must(namespaces.Finalize(h.ctx, ending, metav1.UpdateOptions{}))(t)
		if _, err = namespaces.Get(h.ctx, "ns", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("finalized: %v", err)
		}
		for _, name := range []string{"default", "kube-system", "kube-public"} {
			wantStatus(t, namespaces.Delete(h.ctx, name, metav1.DeleteOptions{}), 403, metav1.StatusReasonForbidden, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`)
		}
	})
}
