package apiserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// everything matches all resources with their subresources, and all operations but the deletion.
func everything() registrationv1.RuleWithOperations {
	return rule("*", "*", "*/*", registrationv1.Create, registrationv1.Update, registrationv1.Connect)
}

// hookEverything registers webhooks of both kinds, and policies of both kinds, for everything. A policy
// rejects objects whose kind is not the one that the request says.
func (h *harness) hookEverything(t *testing.T, o *observer) {
	t.Helper()
	registration := h.client().AdmissionregistrationV1()
	constraints := &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: everything()}}}
	must(registration.ValidatingAdmissionPolicies().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: named("same-kind"), Spec: registrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: constraints, Validations: []registrationv1.Validation{{Expression: "object.kind == request.kind.kind && (oldObject == null || oldObject.kind == request.kind.kind)"}},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.ValidatingAdmissionPolicyBindings().Create(h.ctx, &registrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: named("same-kind"), Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "same-kind", ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.MutatingAdmissionPolicies().Create(h.ctx, &registrationv1.MutatingAdmissionPolicy{
		ObjectMeta: named("nothing"), Spec: registrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: constraints, ReinvocationPolicy: registrationv1.NeverReinvocationPolicy,
			Mutations: []registrationv1.Mutation{{
				PatchType: registrationv1.PatchTypeJSONPatch,
				JSONPatch: &registrationv1.JSONPatch{Expression: `[JSONPatch{op: "test", path: "/kind", value: request.kind.kind}]`},
			}},
		},
	}, metav1.CreateOptions{}))(t)
	must(registration.MutatingAdmissionPolicyBindings().Create(h.ctx, &registrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: named("nothing"), Spec: registrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "nothing"},
	}, metav1.CreateOptions{}))(t)
	must(registration.ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("v"), Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "v.example.com", ClientConfig: o.client, Rules: []registrationv1.RuleWithOperations{everything()},
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	h.hook(t, o, everything())
	o.take()
}

// wantSeen fails unless the webhooks of both kinds have seen one request, with objects of the kind.
func (o *observer) wantSeen(t *testing.T, row *resources.Resource, sub, kind string) {
	t.Helper()
	seen := o.take()
	if row.Group == registrationv1.GroupName && len(seen) == 0 {
		return // webhooks do not see themselves and policies
	}
	if len(seen) != 2 {
		t.Errorf("%s/%s: the webhooks were asked %d times", row.Plural, sub, len(seen))
	}
	for _, rq := range seen {
		var object metav1.TypeMeta
		if err := json.Unmarshal(rq.Object.Raw, &object); err != nil {
			t.Fatal(err)
		}
		if rq.Resource.Resource != row.Plural || rq.SubResource != sub || rq.Kind.Kind != kind || object.Kind != kind {
			t.Errorf("%s/%s: the webhooks saw %s of %s/%s with a %s", row.Plural, sub, rq.Kind.Kind, rq.Resource.Resource, rq.SubResource, object.Kind)
		}
	}
}

// TestSubresourcesAreAdmitted writes through each subresource of each kind, and connects to it, while
// webhooks and policies match everything: they see objects of the subresource's kind, and the request
// succeeds as without them.
func TestSubresourcesAreAdmitted(t *testing.T) {
	bodies := map[string]string{
		"binding": `{"metadata":{"name":"NAME"},"target":{"kind":"Node","name":"n"}}`, "eviction": `{"metadata":{"name":"NAME"}}`, "token": `{}`,
	}
	eachKind(t, func(row *resources.Resource) bool { return len(row.Subresources) > 0 }, func(t *testing.T, o *kindObject) {
		hook := newObserver(t, allow)
		o.hookEverything(t, hook)
		name := nameIn(t, o.created)
		for _, sub := range o.row.Subresources {
			path, kind := o.path+"/"+sub.Name, sub.Kind
			switch {
			case sub.Name == "log":
				continue // reading is not admitted
			case sub.Connect != nil:
				if r := o.send("POST", path, ""); r.code == http.StatusInternalServerError || r.code == http.StatusForbidden {
					t.Errorf("%s: %d %s", path, r.code, r.body)
				}
				hook.wantSeen(t, o.row, sub.Name, kind)
				continue
			case bodies[sub.Name] != "":
				body := strings.ReplaceAll(bodies[sub.Name], "NAME", name)
				if r := o.send("POST", path+"?dryRun=All", body); r.code != http.StatusCreated {
					t.Errorf("POST %s: %d %s", path, r.code, r.body)
				}
				hook.wantSeen(t, o.row, sub.Name, kind)
				continue
			}
			if o.row.Custom {
				kind = map[string]string{"status": "Widget", "scale": "Scale"}[sub.Name]
			}
			current := o.path // a subresource that cannot be read
			if r := o.send("GET", path, ""); r.code == http.StatusOK {
				current = path
			}
			if r := o.send("PUT", path, string(o.mustSend("GET", current, "").body)); r.code != http.StatusOK {
				t.Errorf("PUT %s: %d %s", path, r.code, r.body)
			}
			hook.wantSeen(t, o.row, sub.Name, kind)
			if r := o.send("PATCH", path, `{}`, "Content-Type", "application/merge-patch+json"); r.code != http.StatusOK && r.code != http.StatusMethodNotAllowed {
				t.Errorf("PATCH %s: %d %s", path, r.code, r.body)
			} else if r.code == http.StatusOK {
				hook.wantSeen(t, o.row, sub.Name, kind)
			}
		}
	})
}

// TestVirtualResourcesAreAdmitted creates objects that are not stored, while webhooks and policies match
// everything. They do not see reviews, so that they cannot prevent authentication and authorization.
func TestVirtualResourcesAreAdmitted(t *testing.T) {
	h := start(t)
	hook := newObserver(t, allow)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	h.hookEverything(t, hook)
	bodies := map[string]string{
		"bindings":                  `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`,
		"selfsubjectreviews":        `{}`,
		"tokenreviews":              `{"spec":{"token":"t"}}`,
		"localsubjectaccessreviews": `{"spec":{"user":"u","resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}}}`,
		"selfsubjectaccessreviews":  `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`,
		"selfsubjectrulesreviews":   `{"spec":{"namespace":"default"}}`,
		"subjectaccessreviews":      `{"spec":{"user":"u","resourceAttributes":{"verb":"get","resource":"pods"}}}`,
	}
	for _, row := range allKinds().All() {
		if row.Create == nil {
			continue
		}
		if r := h.send("POST", pathOf(row)+"?dryRun=All", bodies[row.Plural]); r.code != http.StatusCreated {
			t.Errorf("%s: %d %s", row.Plural, r.code, r.body)
		}
		if row.Plural == "bindings" {
			hook.wantSeen(t, row, "", "Binding")
			continue
		}
		if seen := hook.take(); len(seen) > 0 {
			t.Errorf("%s: the webhooks were asked about a %s", row.Plural, seen[0].Kind.Kind)
		}
	}
}
