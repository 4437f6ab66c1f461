package admissionpolicystatus

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is the controller's name, and manager the field manager of its writes, as upstream
// names them.
const (
	Name    = "validatingadmissionpolicy-status-controller"
	manager = "validatingadmissionpolicy-status"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Account: "validatingadmissionpolicy-status-controller",
		About:   "checks the expressions of ValidatingAdmissionPolicies against the schemas of the kinds that they are for",
		Watches: []string{"validatingadmissionpolicies"}, Writes: []string{"validatingadmissionpolicies/status"},
		Docs:  "reference/access-authn-authz/validating-admission-policy/#type-checking",
		Build: build,
	}
}

// Controller maintains the status of policies. Its keys are policies.
type Controller struct {
	client  kubernetes.Interface
	checker validating.TypeChecker
}

func build(p *controller.Parts) error {
	policies := p.Informers.ValidatingAdmissionPolicies()
	c := &Controller{client: p.Client, checker: validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: p.Client.Discovery()},
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.Client.Discovery())),
	}}
	l := p.Loop(controller.Each(policies.Informer(), c.reconcile))
	l.Watch(policies.Informer(), loop.Present)
	return nil
}

// reconcile checks a policy whose generation has not been checked yet.
func (c *Controller) reconcile(ctx context.Context, policy *admissionv1.ValidatingAdmissionPolicy) (loop.Result, error) {
	if policy.Generation <= policy.Status.ObservedGeneration {
		return loop.Result{}, nil
	}
	status := applyv1.ValidatingAdmissionPolicy(policy.Name).WithStatus(statusOf(policy.Generation, c.checker.Check(policy)))
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if _, err := c.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().ApplyStatus(ctx, status, options); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("writing the status of validating admission policy %s: %w", policy.Name, err)
	}
	return loop.Result{}, nil
}

// statusOf returns the status of a generation with these warnings.
func statusOf(generation int64, warnings []admissionv1.ExpressionWarning) *applyv1.ValidatingAdmissionPolicyStatusApplyConfiguration {
	checking := applyv1.TypeChecking()
	for _, w := range warnings {
		checking.WithExpressionWarnings(applyv1.ExpressionWarning().WithFieldRef(w.FieldRef).WithWarning(w.Warning))
	}
	return applyv1.ValidatingAdmissionPolicyStatus().WithObservedGeneration(generation).WithTypeChecking(checking)
}
