package apiserver_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver"
)

// withManifests is an option of start: a folder of manifests of a plugin.
func withManifests(t testing.TB, plugin, kind, dir string) func(*apiserver.Options) {
	t.Helper()
	return withConfig(t, configHead+fmt.Sprintf("- name: %s\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %s}\n", plugin, kind, dir))
}

// staticPolicy is a policy that refuses objects of a resource, and its binding.
func staticPolicy(name, group, resource, message string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["%[2]s"], apiVersions: [v1], operations: [CREATE], resources: [%[3]s]}]}
  validations: [{expression: "!object.metadata.name.startsWith('bad')", message: "%[4]s"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, group, resource, message)
}

// A policy of a folder has effect before any object of the API exists, follows its file, and guards the
// policies of the API, whose names may not be like its own.
func TestStaticPolicies(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	replaceFile(t, file, staticPolicy("a.static.k8s.io", "", "configmaps", "first"))
	replaceFile(t, filepath.Join(dir, "b.yml"), staticPolicy("b.static.k8s.io", "admissionregistration.k8s.io", "validatingadmissionpolicies", "guarded"))
	h := start(t, withManifests(t, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration", dir))
	maps, policies := h.client().CoreV1().ConfigMaps("default"), h.client().AdmissionregistrationV1().ValidatingAdmissionPolicies()
	refused := func(want string) error {
		_, err := maps.Create(h.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want %s", errors.Join(errors.New("an error"), err), want)
		}
		return nil
	}
	if err := refused("first"); err != nil {
		t.Error(err)
	}
	must(maps.Create(h.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{}))(t)
	if list := must(policies.List(h.ctx, metav1.ListOptions{}))(t); len(list.Items) > 0 {
		t.Errorf("the API has the policies of the folder: %v", list.Items)
	}
	policy := &registrationv1.ValidatingAdmissionPolicy{}
	if err := yaml.Unmarshal([]byte(strings.Split(staticPolicy("c.static.k8s.io", "", "configmaps", "c"), "---")[0]), policy); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.Create(h.ctx, policy, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "are reserved for static manifest-based configurations") {
		t.Errorf("a name of manifests: %v", err)
	}
	policy.Name = "bad"
	if _, err := policies.Create(h.ctx, policy, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "guarded") {
		t.Errorf("a policy of the API is not guarded: %v", err)
	}
	replaceFile(t, filepath.Join(dir, "broken.yaml"), "kind: Pod\n")
	replaceFile(t, filepath.Join(dir, "broken.yaml"), "")
	replaceFile(t, file, staticPolicy("a.static.k8s.io", "", "configmaps", "second"))
	eventually(t, h, "the changed file has effect", func() error { return refused("second") })
}

// A webhook of a folder is called.
func TestStaticWebhooks(t *testing.T) {
	dir, config := t.TempDir(), webhook(t)
	none := registrationv1.SideEffectClassNone
	manifest := must(yaml.Marshal(&registrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "m.static.k8s.io"},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "m.example.com", ClientConfig: at(config, "/mutate"), Rules: rulesFor("configmaps", registrationv1.Create), SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}))(t)
	replaceFile(t, filepath.Join(dir, "m.yaml"), string(manifest))
	h := start(t, withManifests(t, "MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", dir))
	made := must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{}))(t)
	if made.Data["added"] == "" {
		t.Errorf("the webhook was not called: %v", made.Data)
	}
}

func TestStaticManifestErrors(t *testing.T) {
	const policies, kind = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration"
	policy := staticPolicy("a.static.k8s.io", "", "configmaps", "refused")
	for name, test := range map[string]struct{ manifest, want string }{
		"another name":    {strings.ReplaceAll(policy, "a.static.k8s.io", "a"), `must have a name ending with ".static.k8s.io"`},
		"another kind":    {"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: a.static.k8s.io}\n", "unsupported resource type"},
		"an unknown kind": {"apiVersion: v1\nkind: Pod\n", `no kind "Pod" is registered`},
		"a typo":          {strings.ReplaceAll(policy, "matchConstraints", "matchConstraint"), `unknown field "spec.matchConstraint"`},
		"invalid":         {strings.ReplaceAll(policy, "CREATE", "MAKE"), "Unsupported value"},
		"no policy":       {strings.Split(policy, "---")[1], "which does not exist in the manifest directory"},
		"too deep":        {strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			replaceFile(t, filepath.Join(dir, "a.yaml"), test.manifest)
			wantStartError(t, test.want, withManifests(t, policies, kind, dir))
		})
	}
	wantStartError(t, "must be an absolute file path", withManifests(t, policies, kind, "relative"))
	wantStartError(t, "unable to read", withManifests(t, policies, kind, "/no/such/folder"))
	wantStartError(t, "they must be apiserver.config.k8s.io/v1 and ValidatingAdmissionPolicyConfiguration", withManifests(t, policies, "WebhookAdmissionConfiguration", t.TempDir()))
}
