package admissionpolicystatus

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is the controller's name, and manager the field manager of its writes, as upstream
// names them.
const (
	Name    = "validatingadmissionpolicy-status-controller"
	manager = "validatingadmissionpolicy-status"
)

// Controller maintains the status of policies. Its keys are policies.
type Controller struct {
	client   kubernetes.Interface
	policies listersv1.ValidatingAdmissionPolicyLister
	checker  validating.TypeChecker
	loop     loop.Loop
}

// New returns a controller, which reads the schemas of kinds from the API when a policy
// needs them.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	policies := e.Informers.ValidatingAdmissionPolicies()
	c := &Controller{client: client, policies: policies.Lister(), checker: validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client.Discovery()},
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}}
	c.loop = loop.New(e.Loop(Name, 1), c)
	c.loop.Watch(policies.Informer(), wake)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

func wake(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Deleted {
		return nil
	}
	return []types.NamespacedName{{Name: ev.Object.GetName()}}
}

// Reconcile checks a policy whose generation has not been checked yet.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	policy, err := c.policies.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting validating admission policy %s: %w", key.Name, err)
	}
	if policy.Generation <= policy.Status.ObservedGeneration {
		return loop.Result{}, nil
	}
	status := applyv1.ValidatingAdmissionPolicy(policy.Name).WithStatus(statusOf(policy.Generation, c.checker.Check(policy)))
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if _, err := c.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().ApplyStatus(ctx, status, options); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("writing the status of validating admission policy %s: %w", key.Name, err)
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
