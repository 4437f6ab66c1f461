package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Masters allows members of GroupMasters everything.
type Masters struct{}

// Authorize implements Authorizer.
func (Masters) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if slices.Contains(a.User.Groups, GroupMasters) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements Authorizer. As upstream, reviews list only the permissions that bindings give.
func (Masters) RulesFor(context.Context, *User, string) (Rules, error) { return Rules{}, nil }

// AlwaysDeny denies everything.
type AlwaysDeny struct{}

// Authorize implements Authorizer.
func (AlwaysDeny) Authorize(context.Context, Attributes) (Decision, string, error) {
	return NoOpinion, "Everything is forbidden.", nil
}

// RulesFor implements Authorizer.
func (AlwaysDeny) RulesFor(context.Context, *User, string) (Rules, error) { return Rules{}, nil }

// Union asks authorizers in turn until one allows or denies a request.
type Union []Authorizer

// Authorize implements Authorizer. Without a decision, the reasons and errors are joined.
func (u Union) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, one := range u {
		decision, reason, err := one.Authorize(ctx, a)
		if decision != NoOpinion {
			return decision, reason, err
		}
		if err != nil {
			errs = append(errs, err)
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}

// RulesFor implements Authorizer with the rules of all authorizers.
func (u Union) RulesFor(ctx context.Context, user *User, namespace string) (Rules, error) {
	var all Rules
	var errs []error
	for _, one := range u {
		rules, err := one.RulesFor(ctx, user, namespace)
		all.Resources, all.Paths = append(all.Resources, rules.Resources...), append(all.Paths, rules.Paths...)
		all.Incomplete = all.Incomplete || rules.Incomplete
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}
