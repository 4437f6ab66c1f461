package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/component-helpers/auth/rbac/validation"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/internal/auth"
)

// Escalation is an admission plugin that keeps users from granting permissions that they
// do not have (Kubernetes documentation, "Using RBAC Authorization: Privilege escalation
// prevention and bootstrapping").
type Escalation struct {
	// Rules are the permissions of users.
	Rules *Authorizer
	// Authorizer decides about the verbs escalate and bind.
	Authorizer auth.Authorizer
	// Record is called with the rules that a user grants in a namespace (empty for all).
	// If it returns true, the user may grant them.
	Record func(user *auth.User, namespace string, rules []rbacv1.PolicyRule) bool
}

// Mutate rejects a role or binding that grants too much. It changes nothing. As upstream,
// it precedes validation.
func (e Escalation) Mutate(ctx context.Context, a *admission.Attributes) error {
	if a.Operation != admission.Create && a.Operation != admission.Update || a.Subresource != "" || a.Resource.Group != rbacv1.GroupName {
		return nil
	}
	if slices.Contains(a.User.Groups, auth.GroupMasters) || a.Old != nil && admission.ChangesOwnersOnly(a.Object, a.Old) {
		return nil
	}
	switch object := a.Object.(type) {
	case *rbacv1.Role:
		return e.checkRole(ctx, a, object.Rules, false)
	case *rbacv1.ClusterRole:
		old, _ := a.Old.(*rbacv1.ClusterRole)
		return e.checkRole(ctx, a, object.Rules, aggregates(object) || aggregates(old))
	case *rbacv1.RoleBinding:
		return e.checkBinding(ctx, a, object.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		return e.checkBinding(ctx, a, object.RoleRef)
	}
	return nil
}

func aggregates(role *rbacv1.ClusterRole) bool {
	return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// everything returns the rules that a user must have to write an aggregation rule, which can
// gather any rules.
func everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}
}

func (e Escalation) checkRole(ctx context.Context, a *admission.Attributes, rules []rbacv1.PolicyRule, aggregates bool) error {
	if e.record(a, rules) {
		return nil
	}
	named := auth.Attributes{
		User: a.User, Verb: "escalate", Resource: true, Group: a.Resource.Group, Version: "*", Plural: a.Resource.Plural, Namespace: a.Namespace,
	}
	if a.Operation == admission.Update {
		named.Name = a.Name
	}
	if e.isAllowed(ctx, named) {
		return nil
	}
	if err := e.confirm(ctx, a, rules); err != nil {
		return apierrors.NewForbidden(a.Resource.GroupResource(), nameOf(a), err)
	}
	if aggregates && e.confirm(ctx, a, everything()) != nil {
		return apierrors.NewForbidden(a.Resource.GroupResource(), nameOf(a), errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

func (e Escalation) checkBinding(ctx context.Context, a *admission.Attributes, ref rbacv1.RoleRef) error {
	granted, err := e.Rules.roleRules(ctx, ref, a.Namespace)
	if err == nil && e.record(a, granted) {
		return nil
	}
	bind := auth.Attributes{User: a.User, Verb: "bind", Resource: true, Group: ref.APIGroup, Version: "*", Namespace: a.Namespace, Name: ref.Name}
	switch ref.Kind {
	case "ClusterRole":
		bind.Plural = "clusterroles"
	case "Role":
		bind.Plural = "roles"
	}
	if bind.Plural != "" && e.isAllowed(ctx, bind) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.confirm(ctx, a, granted); err != nil {
		return apierrors.NewForbidden(a.Resource.GroupResource(), nameOf(a), err)
	}
	return nil
}

func (e Escalation) record(a *admission.Attributes, rules []rbacv1.PolicyRule) bool {
	return e.Record != nil && e.Record(a.User, a.Namespace, rules)
}

// nameOf returns the name of the written object; a create may have none yet.
func nameOf(a *admission.Attributes) string {
	if m, err := meta.Accessor(a.Object); err == nil {
		return m.GetName()
	}
	return a.Name
}

func (e Escalation) isAllowed(ctx context.Context, a auth.Attributes) bool {
	decision, _, _ := e.Authorizer.Authorize(ctx, a) // an error allows nothing
	return decision == auth.Allow
}

// confirm returns an error that lists the rules that the user does not have.
func (e Escalation) confirm(ctx context.Context, a *admission.Attributes, rules []rbacv1.PolicyRule) error {
	own, resolving := e.Rules.policyFor(ctx, a.User, a.Namespace)
	covered, missing := validation.Covers(own, rules)
	if covered {
		return nil
	}
	var lines []string
	for _, rule := range compact(missing) {
		lines = append(lines, describeRule(&rule))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", a.User.Name, a.User.Groups, strings.Join(slices.Compact(lines), "\n"))
	if resolving != nil {
		text += fmt.Sprintf("; resolution errors: %v", []error{resolving})
	}
	return errors.New(text)
}

// compact joins the rules that differ only in their verbs. Each rule has one verb, and at
// most one group, resource and name, as the rules that validation.Covers returns.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		same := slices.IndexFunc(all, func(r rbacv1.PolicyRule) bool {
			return len(r.Resources) == 1 && slices.Equal(r.APIGroups, rule.APIGroups) && slices.Equal(r.Resources, rule.Resources) &&
				slices.Equal(r.ResourceNames, rule.ResourceNames)
		})
		if same >= 0 {
			all[same].Verbs = append(slices.Clone(all[same].Verbs), rule.Verbs...)
			continue
		}
		all = append(all, rule)
	}
	return all
}

func describeRule(r *rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups},
		{"Resources", r.Resources},
		{"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames},
		{"Verbs", r.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
