package hooks

import (
	"context"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"minikcm.dev/minikcm/internal/auth"
)

// Authorizer adapts auth.Authorizer to upstream's interface.
type Authorizer struct{ auth.Authorizer }

// Authorize implements upstream's UnconditionalAuthorizer.
func (z Authorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	user := auth.Anonymous()
	if u := a.GetUser(); u != nil {
		user = &auth.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
	}
	decision, reason, err := z.Authorizer.Authorize(ctx, auth.Attributes{
		User: user, Verb: a.GetVerb(), Resource: a.IsResourceRequest(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(),
		Plural: a.GetResource(), Subresource: a.GetSubresource(), Namespace: a.GetNamespace(), Name: a.GetName(), Path: a.GetPath(),
	})
	switch decision {
	case auth.Allow:
		return authorizer.DecisionAllow, reason, err
	case auth.Deny:
		return authorizer.DecisionDeny, reason, err
	}
	return authorizer.DecisionNoOpinion, reason, err
}
