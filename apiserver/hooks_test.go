package apiserver_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// webhook serves reviews of ConfigMaps: it adds a key, and rejects objects with the key
// "forbidden".
func webhook(t *testing.T) registrationv1.WebhookClientConfig {
	t.Helper()
	return webhookOf(t, func(path string, object *corev1.ConfigMap, answer *admissionv1.AdmissionResponse) {
		switch _, refused := object.Data["forbidden"]; {
		case path == "/mutate" && object.Data["added"] == "":
			answer.Patch, answer.PatchType = []byte(`[{"op":"add","path":"/data/added","value":"by the webhook"}]`), ptr.To(admissionv1.PatchTypeJSONPatch)
			answer.Warnings = []string{"something was added"}
		case path == "/validate" && refused:
			answer.Allowed, answer.Result = false, &metav1.Status{Message: "the key forbidden is not allowed"}
		}
	})
}

// webhookOf serves reviews of ConfigMaps. Before an answer, which allows the request, is sent,
// review may change it.
func webhookOf(t *testing.T, review func(path string, object *corev1.ConfigMap, answer *admissionv1.AdmissionResponse)) registrationv1.WebhookClientConfig {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := &admissionv1.AdmissionResponse{UID: asked.Request.UID, Allowed: true}
		var object corev1.ConfigMap
		_ = json.Unmarshal(asked.Request.Object.Raw, &object)
		review(r.URL.Path, &object, answer)
		asked.Request, asked.Response = nil, answer
		_ = json.NewEncoder(w).Encode(asked)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return registrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: ca}
}

func at(config registrationv1.WebhookClientConfig, path string) registrationv1.WebhookClientConfig {
	config.URL = ptr.To(*config.URL + path)
	return config
}

func rulesFor(plural string, operations ...registrationv1.OperationType) []registrationv1.RuleWithOperations {
	return []registrationv1.RuleWithOperations{{
		Operations: operations, Rule: registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{plural}},
	}}
}

func TestWebhooks(t *testing.T) {
	h := start(t)
	client, config := h.client(), webhook(t)
	none, selector := ptr.To(registrationv1.SideEffectClassNone), &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": "yes"}}
	must(client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(h.ctx, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []registrationv1.MutatingWebhook{{
			Name: "m.example.com", ClientConfig: at(config, "/mutate"), Rules: rulesFor("configmaps", registrationv1.Create), ObjectSelector: selector,
			SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "v.example.com", ClientConfig: at(config, "/validate"), Rules: rulesFor("configmaps", registrationv1.Create, registrationv1.Update), ObjectSelector: selector,
			SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)

	maps := client.CoreV1().ConfigMaps("default")
	hooked := func(name string, pairs ...string) *corev1.ConfigMap {
		cm := configMap(name, append([]string{"k", "v"}, pairs...)...)
		cm.Labels = selector.MatchLabels
		return cm
	}
	made := must(maps.Create(h.ctx, hooked("a"), metav1.CreateOptions{}))(t)
	if made.Data["added"] != "by the webhook" || made.Data["k"] != "v" {
		t.Errorf("the webhook made %v", made.Data)
	}
	if plain := must(maps.Create(h.ctx, configMap("b", "k", "v"), metav1.CreateOptions{}))(t); plain.Data["added"] != "" {
		t.Errorf("the selector did not keep the webhook away: %v", plain.Data)
	}
	denied := `admission webhook "v.example.com" denied the request: the key forbidden is not allowed`
	if _, err := maps.Create(h.ctx, hooked("c", "forbidden", "x"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), denied) {
		t.Errorf("create: %v", err)
	}
	made.Data["forbidden"] = "x"
	if _, err := maps.Update(h.ctx, made, metav1.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), denied) {
		t.Errorf("update: %v", err)
	}
}

func TestAdmissionPolicies(t *testing.T) {
	h := start(t)
	client := h.client()
	addPolicies(t, h, client)
	maps := client.CoreV1().ConfigMaps("default")
	made := must(maps.Create(h.ctx, configMap("probe", "k", "v"), metav1.CreateOptions{}))(t)
	if made.Labels["seen"] != "yes" {
		t.Errorf("the labels are %v", made.Labels)
	}
	_, err := maps.Create(h.ctx, configMap("too-long-a-name", "k", "v"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `ValidatingAdmissionPolicy 'short' with binding 'short' denied request: too-long-a-name is too long`) {
		t.Errorf("%v", err)
	}
	if _, err := maps.Create(h.ctx, configMap("short", "k", "v"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func addPolicies(t *testing.T, h *harness, client kubernetes.Interface) {
	t.Helper()
	registration := client.AdmissionregistrationV1()
	constraints := &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: rulesFor("configmaps", registrationv1.Create)[0]}}}
	must(registration.ValidatingAdmissionPolicies().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "short"}, Spec: registrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: constraints,
			Variables:        []registrationv1.Variable{{Name: "length", Expression: "size(object.metadata.name)"}},
			Validations:      []registrationv1.Validation{{Expression: "variables.length < 10", MessageExpression: "object.metadata.name + ' is too long'"}},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.ValidatingAdmissionPolicyBindings().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "short"}, Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "short", ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.MutatingAdmissionPolicies().Create(h.ctx, &registrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "label"}, Spec: registrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: constraints, ReinvocationPolicy: registrationv1.NeverReinvocationPolicy,
			Mutations: []registrationv1.Mutation{{
				PatchType:          registrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &registrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{labels: {"seen": "yes"}}}`},
			}},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.MutatingAdmissionPolicyBindings().Create(h.ctx, &registrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "label"}, Spec: registrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "label"},
	}, metav1.CreateOptions{}))(t)
}
