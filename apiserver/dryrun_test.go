package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// With dryRun=All every verb responds as usual, and nothing is written.
func TestDryRun(t *testing.T) {
	h := start(t)
	client := h.client()
	all := []string{metav1.DryRunAll}
	must(client.CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t)
	must(client.CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	must(client.AppsV1().Deployments("default").Create(h.ctx, deployment("d", 1), metav1.CreateOptions{}))(t)
	before := must(h.store.Revision(h.ctx))(t)
	writes := len(h.server.Writes().Writes(nil))

	maps := client.CoreV1().ConfigMaps("default")
	made := must(maps.Create(h.ctx, configMap("b", "k", "v"), metav1.CreateOptions{DryRun: all}))(t)
	if made.UID == "" || made.CreationTimestamp.IsZero() || made.ResourceVersion != "" {
		t.Errorf("create: %+v", made)
	}
	_, err := maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{DryRun: all})
	wantStatus(t, err, 409, metav1.StatusReasonAlreadyExists, `configmaps "a" already exists`)
	cm := must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t)
	cm.Data["k"] = "w"
	if changed := must(maps.Update(h.ctx, cm, metav1.UpdateOptions{DryRun: all}))(t); changed.Data["k"] != "w" {
		t.Errorf("update: %+v", changed)
	}
	if changed := must(maps.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"data":{"k":"x"}}`), metav1.PatchOptions{DryRun: all}))(t); changed.Data["k"] != "x" {
		t.Errorf("patch: %+v", changed)
	}
	must(maps.Apply(h.ctx, applycorev1.ConfigMap("c", "default"), metav1.ApplyOptions{FieldManager: "m", DryRun: all}))(t)
	if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := maps.DeleteCollection(h.ctx, metav1.DeleteOptions{DryRun: all}, metav1.ListOptions{}); err != nil {
		t.Errorf("deletecollection: %v", err)
	}
	dryRunSubresources(t, h, client, all)
	if err := maps.Delete(h.ctx, "none", metav1.DeleteOptions{DryRun: all}); err == nil {
		t.Error("what is not there can be deleted")
	}
	wantReply(t, h.send("POST", "/api/v1/namespaces/default/configmaps?dryRun=Some", asJSON(t, configMap("b"))), 422, metav1.StatusReasonInvalid, `dryRun: Unsupported value: ["Some"]`)

	if after := must(h.store.Revision(h.ctx))(t); after != before {
		t.Errorf("from revision %d to %d", before, after)
	}
	if now := len(h.server.Writes().Writes(nil)); now != writes {
		t.Errorf("%d writes were recorded", now-writes)
	}
}

func dryRunSubresources(t *testing.T, h *harness, client kubernetes.Interface, all []string) {
	t.Helper()
	pods := client.CoreV1().Pods("default")
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	if err := pods.Bind(h.ctx, binding, metav1.CreateOptions{DryRun: all}); err != nil {
		t.Errorf("bind: %v", err)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, DeleteOptions: &metav1.DeleteOptions{DryRun: all}}
	if err := pods.EvictV1(h.ctx, eviction); err != nil {
		t.Errorf("evict: %v", err)
	}
	deployments := client.AppsV1().Deployments("default")
	scale := must(deployments.GetScale(h.ctx, "d", metav1.GetOptions{}))(t)
	scale.Spec.Replicas = 9
	if scaled := must(deployments.UpdateScale(h.ctx, "d", scale, metav1.UpdateOptions{DryRun: all}))(t); scaled.Spec.Replicas != 9 {
		t.Errorf("scale: %+v", scaled)
	}
	d := must(deployments.Get(h.ctx, "d", metav1.GetOptions{}))(t)
	d.Status.Replicas = 9
	if changed := must(deployments.UpdateStatus(h.ctx, d, metav1.UpdateOptions{DryRun: all}))(t); changed.Status.Replicas != 9 {
		t.Errorf("status: %+v", changed.Status)
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"a": "b"}}}
	if made := must(client.CoreV1().Services("default").Create(h.ctx, svc, metav1.CreateOptions{DryRun: all}))(t); made.Spec.ClusterIP == "" {
		t.Errorf("service: %+v", made.Spec)
	}
}
