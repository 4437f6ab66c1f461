package reviews

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/auth"
)

// ReviewAccess answers whether a user may make a request (Kubernetes API reference,
// "SubjectAccessReview").
func (a Answers) ReviewAccess(ctx context.Context, asked *authorizationv1.SubjectAccessReview, admit func() error) (*authorizationv1.SubjectAccessReview, error) {
	errs := append(validateSubject(&asked.Spec), validateNoMetadata(asked.ObjectMeta, "must be empty")...)
	if len(errs) > 0 {
		return nil, a.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = a.answerAccess(ctx, subjectOf(&asked.Spec), asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes)
	return asked, nil
}

// ReviewLocalAccess is ReviewAccess within one namespace.
func (a Answers) ReviewLocalAccess(ctx context.Context, asked *authorizationv1.LocalSubjectAccessReview, admit func() error) (*authorizationv1.LocalSubjectAccessReview, error) {
	m := asked.ObjectMeta
	m.Namespace = ""
	errs := append(validateSubject(&asked.Spec), validateNoMetadata(m, "must be empty except for namespace")...)
	if r := asked.Spec.ResourceAttributes; r != nil && r.Namespace != asked.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), r.Namespace, "must match metadata.namespace"))
	}
	if asked.Spec.NonResourceAttributes != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), asked.Spec.NonResourceAttributes, "disallowed on this kind of request"))
	}
	if len(errs) > 0 {
		return nil, a.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = a.answerAccess(ctx, subjectOf(&asked.Spec), asked.Spec.ResourceAttributes, nil)
	return asked, nil
}

// ReviewSelfAccess is ReviewAccess for the requesting user.
func (a Answers) ReviewSelfAccess(ctx context.Context, asked *authorizationv1.SelfSubjectAccessReview, admit func() error) (*authorizationv1.SelfSubjectAccessReview, error) {
	errs := append(validateAccess(asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes), validateNoMetadata(asked.ObjectMeta, "must be empty")...)
	if len(errs) > 0 {
		return nil, a.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = a.answerAccess(ctx, a.rq.User, asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes)
	return asked, nil
}

// ReviewSelfRules lists what the requesting user may do in a namespace.
func (a Answers) ReviewSelfRules(ctx context.Context, asked *authorizationv1.SelfSubjectRulesReview, admit func() error) (*authorizationv1.SelfSubjectRulesReview, error) {
	if asked.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	if err := admit(); err != nil {
		return nil, err
	}
	rules, err := a.reviewer.Authorizer.RulesFor(ctx, a.rq.User, asked.Spec.Namespace)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: rules.Incomplete,
	}
	for _, r := range rules.Resources {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.Groups, Resources: r.Resources, ResourceNames: r.Names})
	}
	for _, r := range rules.Paths {
		status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: r.Verbs, NonResourceURLs: r.Paths})
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return &authorizationv1.SelfSubjectRulesReview{Status: status}, nil
}

// invalidReview returns the error for an invalid review. As upstream's, it names no
// kind.
func (a Answers) invalidReview(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: a.rq.Row.Group}, "", errs)
}

func subjectOf(spec *authorizationv1.SubjectAccessReviewSpec) *auth.User {
	user := &auth.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for key, values := range spec.Extra {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[key] = values
	}
	return user
}

// answerAccess asks the authorizer. Exactly one of resource and path is not nil.
func (a Answers) answerAccess(ctx context.Context, user *auth.User, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	asked := auth.Attributes{User: user}
	var problems []string
	if resource != nil {
		asked.Resource, asked.Verb = true, resource.Verb
		asked.Group, asked.Version, asked.Plural, asked.Subresource = resource.Group, resource.Version, resource.Resource, resource.Subresource
		asked.Namespace, asked.Name = resource.Namespace, resource.Name
		if asked.Version == "" {
			asked.Version = "*"
		}
		asked.FieldSelector, asked.LabelSelector = fieldSelectorOf(resource), labelSelectorOf(resource)
		problems = selectorProblems(resource)
	} else {
		asked.Verb, asked.Path = path.Verb, path.Path
	}
	decision, reason, err := a.reviewer.Questions.Authorize(ctx, asked)
	if err != nil {
		problems = append([]string{err.Error()}, problems...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == auth.Allow, Denied: decision == auth.Deny, Reason: reason, EvaluationError: strings.Join(problems, "; "),
	}
}
