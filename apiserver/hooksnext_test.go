package apiserver_test

import (
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// realAndVirtual runs a test on both clocks.
func realAndVirtual(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Run("real", func(t *testing.T) { test(t, start(t)) })
	t.Run("virtual", func(t *testing.T) {
		h, _ := startVirtual(t)
		test(t, h)
	})
}

// TestPoliciesApplyToTheNextRequest creates the first policies of a server, changes and
// deletes them, and expects each effect in the next request.
func TestPoliciesApplyToTheNextRequest(t *testing.T) {
	realAndVirtual(t, func(t *testing.T, h *harness) {
		client := h.client()
		addPolicies(t, h, client)
		maps, registration := client.CoreV1().ConfigMaps("default"), client.AdmissionregistrationV1()
		made := must(maps.Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t)
		if made.Labels["seen"] != "yes" {
			t.Errorf("the labels are %v", made.Labels)
		}
		_, err := maps.Create(h.ctx, configMap("too-long-a-name"), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "too-long-a-name is too long") {
			t.Errorf("%v", err)
		}
		policy := must(registration.MutatingAdmissionPolicies().Get(h.ctx, "label", metav1.GetOptions{}))(t)
		policy.Spec.Mutations[0].ApplyConfiguration.Expression = `Object{metadata: Object.metadata{labels: {"seen": "again"}}}`
		must(registration.MutatingAdmissionPolicies().Update(h.ctx, policy, metav1.UpdateOptions{}))(t)
		if made = must(maps.Create(h.ctx, configMap("b"), metav1.CreateOptions{}))(t); made.Labels["seen"] != "again" {
			t.Errorf("the labels are %v", made.Labels)
		}
		for _, err := range []error{
			registration.MutatingAdmissionPolicyBindings().Delete(h.ctx, "label", metav1.DeleteOptions{}),
			registration.ValidatingAdmissionPolicyBindings().Delete(h.ctx, "short", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if made = must(maps.Create(h.ctx, configMap("another-long-name"), metav1.CreateOptions{}))(t); len(made.Labels) > 0 {
			t.Errorf("the labels are %v", made.Labels)
		}
	})
}

func TestPolicyParametersApplyToTheNextRequest(t *testing.T) {
	realAndVirtual(t, func(t *testing.T, h *harness) {
		client := h.client()
		registration := client.AdmissionregistrationV1()
		must(registration.ValidatingAdmissionPolicies().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: named("limit"), Spec: registrationv1.ValidatingAdmissionPolicySpec{
				ParamKind:        &registrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
				MatchConstraints: &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: rulesFor("secrets", registrationv1.Create)[0]}}},
				Validations:      []registrationv1.Validation{{Expression: "object.metadata.name != params.data.forbidden", Message: "a forbidden name"}},
			},
		}, metav1.CreateOptions{}))(t)
		must(registration.ValidatingAdmissionPolicyBindings().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: named("limit"), Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: "limit", ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny},
				ParamRef: &registrationv1.ParamRef{Name: "params", Namespace: "default", ParameterNotFoundAction: ptr.To(registrationv1.AllowAction)},
			},
		}, metav1.CreateOptions{}))(t)
		create := func(name string) error {
			_, err := client.CoreV1().Secrets("default").Create(h.ctx, &corev1.Secret{ObjectMeta: named(name)}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
		if err := create("a"); err != nil {
			t.Errorf("without parameters: %v", err)
		}
		params := must(client.CoreV1().ConfigMaps("default").Create(h.ctx, configMap("params", "forbidden", "a"), metav1.CreateOptions{}))(t)
		if err := create("a"); err == nil || !strings.Contains(err.Error(), "a forbidden name") {
			t.Errorf("%v", err)
		}
		params.Data["forbidden"] = "b"
		must(client.CoreV1().ConfigMaps("default").Update(h.ctx, params, metav1.UpdateOptions{}))(t)
		if err := create("a"); err != nil {
			t.Error(err)
		}
	})
}

func TestWebhooksApplyToTheNextRequest(t *testing.T) {
	realAndVirtual(t, func(t *testing.T, h *harness) {
		client, config := h.client(), webhook(t)
		registration, maps := client.AdmissionregistrationV1().MutatingWebhookConfigurations(), client.CoreV1().ConfigMaps("default")
		hook := &registrationv1.MutatingWebhookConfiguration{
			ObjectMeta: named("m"), Webhooks: []registrationv1.MutatingWebhook{{
				Name: "m.example.com", ClientConfig: at(config, "/mutate"), Rules: rulesFor("configmaps", registrationv1.Create),
				SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		}
		added := func(name string) bool {
			t.Helper()
			return must(maps.Create(h.ctx, configMap(name, "k", "v"), metav1.CreateOptions{}))(t).Data["added"] != ""
		}
		hook = must(registration.Create(h.ctx, hook, metav1.CreateOptions{}))(t)
		if !added("a") {
			t.Error("a new webhook was not called")
		}
		hook.Webhooks[0].Rules = rulesFor("secrets", registrationv1.Create)
		must(registration.Update(h.ctx, hook, metav1.UpdateOptions{}))(t)
		if added("b") {
			t.Error("a webhook for Secrets was called for a ConfigMap")
		}
		hook = must(registration.Get(h.ctx, "m", metav1.GetOptions{}))(t)
		hook.Webhooks[0].Rules = rulesFor("configmaps", registrationv1.Create)
		must(registration.Update(h.ctx, hook, metav1.UpdateOptions{}))(t)
		if !added("c") {
			t.Error("a changed webhook was not called")
		}
		if err := registration.Delete(h.ctx, "m", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if added("d") {
			t.Error("a deleted webhook was called")
		}
	})
}

// TestWebhookConditionsAsk calls a webhook only for users who lack a permission.
func TestWebhookConditionsAsk(t *testing.T) {
	h := start(t)
	client, config := h.client(), webhook(t)
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("write"), Rules: rules("create", "", "configmaps")},
		&rbacv1.RoleBinding{ObjectMeta: named("write"), RoleRef: roleRef("Role", "write"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	must(client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(h.ctx, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: named("m"), Webhooks: []registrationv1.MutatingWebhook{{
			Name: "m.example.com", ClientConfig: at(config, "/mutate"), Rules: rulesFor("configmaps", registrationv1.Create),
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			MatchConditions: []registrationv1.MatchCondition{{
				Name: "breakglass", Expression: `!authorizer.group("admissionregistration.k8s.io").resource("validatingwebhookconfigurations").name("m").check("breakglass").allowed()`,
			}},
		}},
	}, metav1.CreateOptions{}))(t)
	maps := h.as("jane").CoreV1().ConfigMaps("default")
	if made := must(maps.Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t); made.Data["added"] == "" {
		t.Error("the webhook was not called for a user without the permission")
	}
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("breakglass"), Rules: rules("breakglass", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "m")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("breakglass"), RoleRef: roleRef("ClusterRole", "breakglass"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	if made := must(maps.Create(h.ctx, configMap("b", "k", "v"), metav1.CreateOptions{}))(t); made.Data["added"] != "" {
		t.Error("the webhook was called for a user with the permission")
	}
}
