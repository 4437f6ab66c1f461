package clusterroleaggregation

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"

	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation/decide"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "clusterrole-aggregation-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"clusterrole-aggregation"}, Account: "clusterrole-aggregation-controller",
		About:   "gives ClusterRoles with an aggregation rule the rules of the roles that it selects",
		Watches: []string{"clusterroles"}, Writes: []string{"clusterroles"},
		Docs:  "reference/access-authn-authz/rbac/#aggregated-clusterroles",
		Build: build,
	}
}

// Controller maintains the rules. Its keys are ClusterRoles.
type Controller struct {
	client kubernetes.Interface
	roles  rbaclisters.ClusterRoleLister
}

func build(p *controller.Parts) error {
	roles := p.Informers.ClusterRoles()
	c := &Controller{client: p.Client, roles: roles.Lister()}
	l := p.Loop(controller.Each(roles.Informer(), c.reconcile))
	l.Watch(roles.Informer(), c.wake)
	return nil
}

// wake returns the roles that may gather the rules of a changed one: all that have an
// aggregation rule, since the change may have removed a label.
func (c *Controller) wake(loop.Event) []types.NamespacedName {
	return loop.KeysOf(c.roles.List, func(role *rbacv1.ClusterRole) bool { return role.AggregationRule != nil })
}

// reconcile applies the rules that the role gathers.
func (c *Controller) reconcile(ctx context.Context, role *rbacv1.ClusterRole) (loop.Result, error) {
	all, err := c.roles.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing cluster roles: %w", err)
	}
	gathered, changed, err := decide.Rules(role, all)
	if err != nil || !changed {
		return loop.Result{}, err
	}
	applied := rbacv1ac.ClusterRole(role.Name)
	for i := range gathered {
		applied.WithRules(applyRule(&gathered[i]))
	}
	if _, err := c.client.RbacV1().ClusterRoles().Apply(ctx, applied, metav1.ApplyOptions{FieldManager: Name, Force: true}); err != nil {
		return loop.Result{}, fmt.Errorf("applying the rules of cluster role %s: %w", role.Name, err)
	}
	return loop.Result{}, nil
}

func applyRule(r *rbacv1.PolicyRule) *rbacv1ac.PolicyRuleApplyConfiguration {
	return rbacv1ac.PolicyRule().WithVerbs(r.Verbs...).WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).
		WithResourceNames(r.ResourceNames...).WithNonResourceURLs(r.NonResourceURLs...)
}
