package apiserver_test

import (
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestNamespaceWithGeneratedName creates a namespace with a generated name: its label with the name is there in the response,
// for selectors, in watches, and for webhooks. Mutating webhooks see the object before it has a name, as upstream.
func TestNamespaceWithGeneratedName(t *testing.T) {
	h := start(t)
	namespaces := h.client().CoreV1().Namespaces()
	w := must(namespaces.Watch(h.ctx, metav1.ListOptions{LabelSelector: corev1.LabelMetadataName}))(t)
	defer w.Stop()
	mutating, validating := newObserver(t, allow), newObserver(t, allow)
	h.hook(t, mutating, rule("", "v1", "namespaces", registrationv1.Create))
	must(h.client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("v"), Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "v.example.com", ClientConfig: validating.client, Rules: rulesFor("namespaces", registrationv1.Create),
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpExists}}},
			SideEffects:       ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	made := must(namespaces.Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{}))(t)
	if made.Name == "" || made.Labels[corev1.LabelMetadataName] != made.Name {
		t.Fatalf("created as %q with labels %v", made.Name, made.Labels)
	}
	for _, opts := range []metav1.ListOptions{{}, {ResourceVersion: "0"}} {
		opts.LabelSelector = corev1.LabelMetadataName + "=" + made.Name
		if found := must(namespaces.List(h.ctx, opts))(t); len(found.Items) != 1 {
			t.Errorf("%d namespaces have the label", len(found.Items))
		}
	}
	for {
		event := <-w.ResultChan()
		ns, ok := event.Object.(*corev1.Namespace)
		if !ok {
			t.Fatalf("the watch ended: %+v", event)
		}
		if ns.Name == made.Name {
			break
		}
	}
	nameSeen := func(rq *admissionv1.AdmissionRequest) (request, object string) {
		var ns corev1.Namespace
		if err := json.Unmarshal(rq.Object.Raw, &ns); err != nil {
			t.Fatal(err)
		}
		return rq.Name, ns.Labels[corev1.LabelMetadataName]
	}
	if name, label := nameSeen(mutating.only(t)); name != "" || label != "" {
		t.Errorf("the mutating webhook saw %q with label %q", name, label)
	}
	if name, label := nameSeen(validating.only(t)); name != made.Name || label != made.Name {
		t.Errorf("the validating webhook saw %q with label %q", name, label)
	}
}

// TestGeneratedNameThatIsTaken makes the first generated name collide: what derives from the name follows the second.
func TestGeneratedNameThatIsTaken(t *testing.T) {
	generated := func(taken string) (*corev1.Namespace, *batchv1.Job) {
		h := start(t)
		client := h.client()
		if taken != "" {
			must(client.CoreV1().Namespaces().Create(h.ctx, &corev1.Namespace{ObjectMeta: named("g-" + taken)}, metav1.CreateOptions{}))(t)
		}
		return must(client.CoreV1().Namespaces().Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{}))(t),
			must(client.BatchV1().Jobs("default").Create(h.ctx, &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "j-"},
				Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: pod("p").Spec.Containers}}},
			}, metav1.CreateOptions{}))(t)
	}
	first, job := generated("") // equal seeds give equal names
	if job.Spec.Template.Labels[batchv1.JobNameLabel] != job.Name {
		t.Errorf("the job %s has the labels %v", job.Name, job.Spec.Template.Labels)
	}
	second, _ := generated(first.Name[len("g-"):])
	if second.Name == first.Name || second.Labels[corev1.LabelMetadataName] != second.Name {
		t.Errorf("after %s, created %s with labels %v", first.Name, second.Name, second.Labels)
	}
}
