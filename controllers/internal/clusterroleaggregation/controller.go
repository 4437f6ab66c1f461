package clusterroleaggregation

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"

	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation/decide"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "clusterrole-aggregation-controller"

// workers is upstream's number.
const workers = 5

// Controller maintains the rules. Its keys are ClusterRoles.
type Controller struct {
	client kubernetes.Interface
	roles  rbaclisters.ClusterRoleLister
	loop   loop.Loop
}

// New returns a controller.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	roles := e.Informers.ClusterRoles()
	c := &Controller{client: client, roles: roles.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(roles.Informer(), c.wake)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wake returns the roles that may gather the rules of a changed one: all that have an
// aggregation rule, since the change may have removed a label.
func (c *Controller) wake(loop.Event) []types.NamespacedName {
	all, err := c.roles.List(labels.Everything())
	if err != nil {
		return nil // a lister of a cache does not fail
	}
	var keys []types.NamespacedName
	for _, role := range all {
		if role.AggregationRule != nil {
			keys = append(keys, types.NamespacedName{Name: role.Name})
		}
	}
	return keys
}

// Reconcile applies the rules that the role gathers.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	role, err := c.roles.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting cluster role %s: %w", key.Name, err)
	}
	all, err := c.roles.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing cluster roles: %w", err)
	}
	gathered, changed, err := decide.Rules(role, all)
	if err != nil || !changed {
		return loop.Result{}, err
	}
	applied := rbacv1ac.ClusterRole(key.Name)
	for i := range gathered {
		applied.WithRules(applyRule(&gathered[i]))
	}
	if _, err := c.client.RbacV1().ClusterRoles().Apply(ctx, applied, metav1.ApplyOptions{FieldManager: Name, Force: true}); err != nil {
		return loop.Result{}, fmt.Errorf("applying the rules of cluster role %s: %w", key.Name, err)
	}
	return loop.Result{}, nil
}

func applyRule(r *rbacv1.PolicyRule) *rbacv1ac.PolicyRuleApplyConfiguration {
	return rbacv1ac.PolicyRule().WithVerbs(r.Verbs...).WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).
		WithResourceNames(r.ResourceNames...).WithNonResourceURLs(r.NonResourceURLs...)
}
