package apiserver_test

import (
	"encoding/json"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// deletions matches the deletions of a resource.
func deletions(resource string) registrationv1.RuleWithOperations {
	return rule("", "v1", resource, registrationv1.Delete)
}

// checkDeletions registers a validating webhook for deletions: mutating ones are not called for them
// a second time.
func (h *harness) checkDeletions(t *testing.T, o *observer, selector *metav1.LabelSelector, rules ...registrationv1.RuleWithOperations) {
	t.Helper()
	must(h.client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("deletions"), Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "deletions.example.com", ClientConfig: o.client, Rules: rules, NamespaceSelector: selector,
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
}

// TestWebhooksSeeOptions checks that the options of a request are in its review, as the client sent them.
func TestWebhooksSeeOptions(t *testing.T) {
	h := start(t)
	o := newObserver(t, allow)
	h.hook(t, o, rulesFor("configmaps", registrationv1.Create, registrationv1.Update)...)
	h.checkDeletions(t, o, nil, deletions("configmaps"))
	const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
	all := "/api/v1/namespaces/default/configmaps"
	applied := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"v"}}`
	steps := []struct{ method, path, body, header, want string }{
		{"POST", all, `{"metadata":{"name":"a"}}`, "", `{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`},
		{"PUT", all + "/a?fieldManager=m&fieldValidation=Ignore", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, "", `{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"m","fieldValidation":"Ignore"}`},
		{"PATCH", all + "/a?dryRun=All", `{"data":{"k":"w"}}`, merge, `{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]}`},
		{"PATCH", all + "/b?fieldManager=m", applied, apply, `{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"m"}`},
		{"DELETE", all + "/a?dryRun=All&propagationPolicy=Foreground", "", "", `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Foreground","dryRun":["All"]}`},
		{"DELETE", all + "/a", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":7,"preconditions":{}}`, "", `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":7,"preconditions":{}}`},
		{"DELETE", all + "?gracePeriodSeconds=3", "", "", `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3}`},
	}
	for _, step := range steps {
		header := step.header
		if header == "" {
			header = "application/json"
		}
		h.mustSend(step.method, step.path, step.body, "Content-Type", header)
		seen := o.take()
		if len(seen) == 0 {
			t.Fatalf("%s %s: the webhook was not asked", step.method, step.path)
		}
		if got := string(seen[0].Options.Raw); got != step.want {
			t.Errorf("%s %s: the webhook saw the options %s, want %s", step.method, step.path, got, step.want)
		}
	}
}

// TestWebhooksSeeGracePeriods checks that the deletion of a pod has the grace period that it begins or
// shortens, and that one which changes nothing is not reviewed.
func TestWebhooksSeeGracePeriods(t *testing.T) {
	h := start(t)
	o := newObserver(t, allow)
	h.checkDeletions(t, o, nil, deletions("pods"))
	assigned := pod("p")
	assigned.Spec.NodeName = "n"
	must(h.client().CoreV1().Pods("default").Create(h.ctx, assigned, metav1.CreateOptions{}))(t)
	path := "/api/v1/namespaces/default/pods/p"
	for _, step := range []struct {
		path string
		want []int64
	}{{path, []int64{30}}, {path, nil}, {path + "?gracePeriodSeconds=40", nil}, {path + "?gracePeriodSeconds=5", []int64{5}}, {path + "?gracePeriodSeconds=0", []int64{0, 0}}} {
		h.idle() // a write that sees an earlier state is reviewed again
		h.mustSend("DELETE", step.path, "")
		var got []int64
		for _, rq := range o.take() {
			var opts metav1.DeleteOptions
			if err := json.Unmarshal(rq.Options.Raw, &opts); err != nil {
				t.Fatal(err)
			}
			got = append(got, ptr.Deref(opts.GracePeriodSeconds, -1))
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("DELETE %s: the webhook saw the grace periods %d, want %d", step.path, got, step.want)
		}
	}
}

// TestWebhooksOfSelectedNamespaces writes a Namespace in all ways while a webhook selects namespaces by
// their labels. The webhook is called for the Namespace if its labels match, and the review's namespace is its name.
func TestWebhooksOfSelectedNamespaces(t *testing.T) {
	h := start(t)
	o := newObserver(t, allow)
	every := []registrationv1.RuleWithOperations{rule("", "v1", "namespaces/*", registrationv1.OperationAll), rule("", "v1", "namespaces", registrationv1.OperationAll)}
	h.checkDeletions(t, o, &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": "yes"}}, every...)
	for name, hooked := range map[string]string{"in": "yes", "out": "no"} {
		path := "/api/v1/namespaces/" + name
		h.mustSend("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+name+`","labels":{"hooked":"`+hooked+`"}},"spec":{"finalizers":["example.com/x"]}}`)
		h.mustSend("PATCH", path, `{"metadata":{"annotations":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
		h.mustSend("PATCH", path+"/status", `{"metadata":{"annotations":{"a":"c"}}}`, "Content-Type", "application/merge-patch+json")
		h.mustSend("PUT", path+"/finalize", string(h.mustSend("GET", path, "").body))
		h.mustSend("DELETE", path, "")
		var got []string
		for _, rq := range o.take() {
			if got = append(got, string(rq.Operation)+" "+rq.SubResource); rq.Namespace != name || rq.Name != name {
				t.Errorf("%s %s/%s: the review is of %q in %q", rq.Operation, name, rq.SubResource, rq.Name, rq.Namespace)
			}
		}
		var want []string
		if hooked == "yes" {
			want = []string{"CREATE ", "UPDATE ", "UPDATE status", "UPDATE finalize", "DELETE "}
		}
		if got = slices.Compact(got); !slices.Equal(got, want) { // a write that saw an earlier state was reviewed again
			t.Errorf("the webhook saw %q of the namespace %s, want %q", got, name, want)
		}
	}
}

// TestWebhooksSeeTokenDefaults checks that the review of a TokenRequest has its defaults.
func TestWebhooksSeeTokenDefaults(t *testing.T) {
	h := start(t)
	var asked authenticationv1.TokenRequest
	o := newObserver(t, func(rq *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		_ = json.Unmarshal(rq.Object.Raw, &asked)
		return allow(rq)
	})
	h.hook(t, o, rule("", "v1", "serviceaccounts/token", registrationv1.Create))
	must(h.client().CoreV1().ServiceAccounts("default").Create(h.ctx, &corev1.ServiceAccount{ObjectMeta: named("s")}, metav1.CreateOptions{}))(t)
	must(h.client().CoreV1().ServiceAccounts("default").CreateToken(h.ctx, "s", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))(t)
	if got := ptr.Deref(asked.Spec.ExpirationSeconds, 0); got != 3600 {
		t.Errorf("the webhook saw a lifetime of %d s, want 3600", got)
	}
}
