package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/reasons"
)

// Refused requests are recorded with their refusers, and counted by upstream's metrics.
func TestRefusedRequests(t *testing.T) {
	ledger := clock.NewLedger()
	f := faults.New(clock.Real(), ledger, clock.NewRandom(1))
	h := start(t, func(o *apiserver.Options) { o.Ledger, o.Faults = ledger, f })
	client := h.client()
	addPolicies(t, h, client)
	hook := webhookOf(t, func(_ string, object *corev1.ConfigMap, answer *admissionv1.AdmissionResponse) {
		answer.Allowed = object.Name != "hooked"
		answer.Result = &metav1.Status{Code: http.StatusTeapot, Message: "not this one"}
	})
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "opa"}, Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "validating.opa.example.com", ClientConfig: hook, Rules: rulesFor("configmaps", registrationv1.Create),
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	none := corev1.ResourceList{"count/secrets": resource.MustParse("0")}
	quota := must(client.CoreV1().ResourceQuotas("default").Create(h.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "compute"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{}))(t)
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	must(client.CoreV1().ResourceQuotas("default").UpdateStatus(h.ctx, quota, metav1.UpdateOptions{}))(t)
	f.Inject(faults.Rule{Match: faults.Match{Resources: []string{"events"}}, Code: http.StatusBadGateway})

	maps := client.CoreV1().ConfigMaps("default")
	for name, ask := range map[string]func() error{
		"policy": func() error {
			_, err := maps.Create(h.ctx, configMap("too-long-a-name"), metav1.CreateOptions{})
			return err
		},
		"webhook": func() error { _, err := maps.Create(h.ctx, configMap("hooked"), metav1.CreateOptions{}); return err },
		"quota": func() error {
			_, err := client.CoreV1().Secrets("default").Create(h.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
			return err
		},
		"RBAC": func() error { return h.as("jane").CoreV1().Pods("default").Delete(h.ctx, "p", metav1.DeleteOptions{}) },
		"fault": func() error {
			_, err := client.CoreV1().Events("default").List(h.ctx, metav1.ListOptions{})
			return err
		},
		// These are no refusals: the object is not as the client believes.
		"conflict": func() error { _, err := maps.Update(h.ctx, configMap("none"), metav1.UpdateOptions{}); return err },
		"not found": func() error {
			_, err := maps.Patch(h.ctx, "none", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
	} {
		for range 2 {
			if ask() == nil {
				t.Errorf("%s: it succeeds", name)
			}
		}
	}
	want := map[reasons.Refuser]string{
		{Kind: reasons.ByPolicy, Name: "short", Of: "short"}:                     "2 creations of configmap/too-long-a-name were refused by policy short",
		{Kind: reasons.ByWebhook, Name: "validating.opa.example.com", Of: "opa"}: "2 creations of configmap/hooked were refused by webhook opa (validating.opa.example.com)",
		{Kind: reasons.ByQuota, Name: "compute"}:                                 "2 creations of secret/s were refused by quota compute",
		{Kind: reasons.ByAuthorization}:                                          "2 deletions of pod/p were refused by RBAC",
		{Kind: reasons.ByFault}:                                                  "2 lists of events were refused by a fault",
	}
	for _, r := range h.server.Writes().Refusals().All(nil) {
		if r.Sentence() != want[r.By] {
			t.Errorf("%v: %s", r.By, r.Sentence())
		}
		delete(want, r.By)
	}
	if len(want) > 0 {
		t.Errorf("not recorded are %v", want)
	}

	text := string(h.mustSend(http.MethodGet, "/metrics", "").body)
	for _, line := range []string{
		`apiserver_admission_webhook_rejection_count{error_type="no_error",name="validating.opa.example.com",operation="CREATE",rejection_code="418",type="validating"} 2`,
		`apiserver_admission_webhook_admission_duration_seconds_count{name="validating.opa.example.com",operation="CREATE",rejected="true",type="validating"} 2`,
		`apiserver_admission_webhook_request_total{code="418",name="validating.opa.example.com",operation="CREATE",rejected="true",type="validating"} 2`,
		`apiserver_validating_admission_policy_check_total{enforcement_action="deny",error_type="invalid_error",policy="short",policy_binding="short"} 2`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="ResourceQuota",operation="CREATE",rejected="true",type="validate"} 2`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="validate"} 6`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics have no %s", line)
		}
	}
}
