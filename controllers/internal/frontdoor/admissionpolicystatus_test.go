package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/admissionpolicystatus"
	"minikcm.dev/minikcm/minikcmtest"
)

// policy returns a policy for Deployments with one expression and its message.
func validatingPolicy(expression, message string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "replicas"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: expression, MessageExpression: message}},
		},
	}
}

// TestPolicyWarnings creates the policy of the Kubernetes documentation with a mistake in its
// expression, and then corrects it.
func TestPolicyWarnings(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithControllers(admissionpolicystatus.Name))
	policies := c.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if _, err := policies.Create(ctx, validatingPolicy("object.replicas > 1", "'at least ' + object.spec.replica"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	checked := func(generation int64, warnings ...string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, _ kubernetes.Interface) error {
			got, err := policies.Get(ctx, "replicas", metav1.GetOptions{})
			if err != nil {
				return err
			}
			var found []admissionv1.ExpressionWarning
			if checking := got.Status.TypeChecking; checking != nil {
				found = checking.ExpressionWarnings
			}
			if got.Status.ObservedGeneration != generation || len(found) != len(warnings) {
				return fmt.Errorf("the status is %+v", got.Status)
			}
			for i, w := range found {
				if text := w.FieldRef + ": " + w.Warning; !strings.HasPrefix(text, warnings[i]) {
					return fmt.Errorf("the warning is %s", text)
				}
			}
			return nil
		}
	}
	c.Eventually("warnings of both expressions", checked(1,
		"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'",
		"spec.validations[0].messageExpression: apps/v1, Kind=Deployment: ERROR: <input>:1:26: undefined field 'replica'"))
	mended := []byte(`[{"op":"replace","path":"/spec/validations","value":[{"expression":"object.spec.replicas > 1"}]}]`)
	if _, err := policies.Patch(ctx, "replicas", types.JSONPatchType, mended, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("no warnings", checked(2))
}
