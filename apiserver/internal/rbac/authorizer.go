package rbac

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"minikcm.dev/minikcm/internal/auth"
)

// Authorizer implements auth.Authorizer. Its methods may be called concurrently.
type Authorizer struct{ index *index }

// New returns an Authorizer that decides by the objects of sources.
func New(sources Sources) *Authorizer { return &Authorizer{newIndex(sources)} }

// Authorize implements auth.Authorizer. It allows a request or has no opinion.
func (z *Authorizer) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if err := z.index.refresh(ctx); err != nil {
		return auth.NoOpinion, "", err
	}
	x := z.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	if reason, ok := x.of(subject{name: a.User.Name}).allow(&a); ok {
		return auth.Allow, reason, nil
	}
	for _, group := range a.User.Groups {
		if reason, ok := x.of(subject{group: true, name: group}).allow(&a); ok {
			return auth.Allow, reason, nil
		}
	}
	return auth.NoOpinion, x.whyNot(&a), nil
}

// allow returns why the grants of a subject allow a request.
func (g *grants) allow(a *auth.Attributes) (reason string, ok bool) {
	if g == nil {
		return "", false
	}
	if reason, ok := g.everywhere.allows(a); ok {
		return reason, true
	}
	if in := g.namespaces[a.Namespace]; a.Resource && a.Namespace != "" && in != nil {
		return in.allows(a)
	}
	return "", false
}

// whyNot returns the errors of the user's bindings whose role does not exist; empty if
// there are none.
func (x *index) whyNot(a *auth.Attributes) string {
	var missing []error
	note := func(g *grants) {
		if g == nil {
			return
		}
		missing = append(missing, g.everywhere.missing...)
		if in := g.namespaces[a.Namespace]; a.Namespace != "" && in != nil {
			missing = append(missing, in.missing...)
		}
	}
	note(x.of(subject{name: a.User.Name}))
	for _, group := range a.User.Groups {
		note(x.of(subject{group: true, name: group}))
	}
	if len(missing) == 0 {
		return ""
	}
	return "RBAC: " + utilerrors.NewAggregate(missing).Error()
}

// RulesFor implements auth.Authorizer.
func (z *Authorizer) RulesFor(ctx context.Context, user *auth.User, namespace string) (auth.Rules, error) {
	policy, err := z.policyFor(ctx, user, namespace)
	var rules auth.Rules
	for i := range policy {
		r := &policy[i]
		if len(r.Resources) > 0 {
			rules.Resources = append(rules.Resources, auth.ResourceRule{Verbs: r.Verbs, Groups: r.APIGroups, Resources: r.Resources, Names: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			rules.Paths = append(rules.Paths, auth.PathRule{Verbs: r.Verbs, Paths: r.NonResourceURLs})
		}
	}
	return rules, err
}

func (z *Authorizer) policyFor(ctx context.Context, user *auth.User, namespace string) ([]rbacv1.PolicyRule, error) {
	if err := z.index.refresh(ctx); err != nil {
		return nil, err
	}
	rules, errs := z.index.rulesFor(user, namespace)
	return rules, utilerrors.NewAggregate(errs)
}

// roleRules returns the rules of the role that a binding in namespace refers to.
func (z *Authorizer) roleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if err := z.index.refresh(ctx); err != nil {
		return nil, err
	}
	z.index.mu.RLock()
	defer z.index.mu.RUnlock()
	rules, err := z.index.rulesOf(ref, namespace)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(ref.Kind)+"s"), ref.Name)
	}
	return rules, err
}
