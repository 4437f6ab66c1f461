package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/auth"
)

// ReviewAccess answers whether a user may make a request (Kubernetes API reference,
// "SubjectAccessReview").
func (rq kindCall) ReviewAccess(ctx context.Context, asked *authorizationv1.SubjectAccessReview, admit func() error) (*authorizationv1.SubjectAccessReview, error) {
	errs := append(validateSubject(&asked.Spec), validateNoMetadata(asked.ObjectMeta, "must be empty")...)
	if len(errs) > 0 {
		return nil, rq.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = rq.answerAccess(ctx, subjectOf(&asked.Spec), asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes)
	return asked, nil
}

// ReviewLocalAccess is ReviewAccess within one namespace.
func (rq kindCall) ReviewLocalAccess(ctx context.Context, asked *authorizationv1.LocalSubjectAccessReview, admit func() error) (*authorizationv1.LocalSubjectAccessReview, error) {
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
		return nil, rq.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = rq.answerAccess(ctx, subjectOf(&asked.Spec), asked.Spec.ResourceAttributes, nil)
	return asked, nil
}

// ReviewSelfAccess is ReviewAccess for the requesting user.
func (rq kindCall) ReviewSelfAccess(ctx context.Context, asked *authorizationv1.SelfSubjectAccessReview, admit func() error) (*authorizationv1.SelfSubjectAccessReview, error) {
	errs := append(validateAccess(asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes), validateNoMetadata(asked.ObjectMeta, "must be empty")...)
	if len(errs) > 0 {
		return nil, rq.invalidReview(errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = rq.answerAccess(ctx, rq.User, asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes)
	return asked, nil
}

// ReviewSelfRules lists what the requesting user may do in a namespace.
func (rq kindCall) ReviewSelfRules(ctx context.Context, asked *authorizationv1.SelfSubjectRulesReview, admit func() error) (*authorizationv1.SelfSubjectRulesReview, error) {
	if asked.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	if err := admit(); err != nil {
		return nil, err
	}
	rules, err := rq.server.opts.Authorizer.RulesFor(ctx, rq.User, asked.Spec.Namespace)
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
func (rq kindCall) invalidReview(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: rq.Row.Group}, "", errs)
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
func (rq kindCall) answerAccess(ctx context.Context, user *auth.User, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	a := auth.Attributes{User: user}
	var problems []string
	if resource != nil {
		a.Resource, a.Verb = true, resource.Verb
		a.Group, a.Version, a.Plural, a.Subresource = resource.Group, resource.Version, resource.Resource, resource.Subresource
		a.Namespace, a.Name = resource.Namespace, resource.Name
		if a.Version == "" {
			a.Version = "*"
		}
		a.FieldSelector, a.LabelSelector = fieldSelectorOf(resource), labelSelectorOf(resource)
		problems = selectorProblems(resource)
	} else {
		a.Verb, a.Path = path.Verb, path.Path
	}
	decision, reason, err := rq.server.recorder.Questions().Authorize(ctx, a)
	if err != nil {
		problems = append([]string{err.Error()}, problems...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == auth.Allow, Denied: decision == auth.Deny, Reason: reason, EvaluationError: strings.Join(problems, "; "),
	}
}

// selectorProblems lists the selectors that cannot be parsed, in part or at all
// (KEP-4601).
func selectorProblems(r *authorizationv1.ResourceAttributes) []string {
	var problems []string
	note := func(name string, read int, err error) {
		switch {
		case err != nil && read > 0:
			problems = append(problems, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		case err != nil:
			problems = append(problems, "spec.resourceAttributes."+name+" ignored due to parse error")
		}
	}
	if s := r.FieldSelector; s != nil {
		if s.RawSelector != "" {
			_, err := fields.ParseSelector(s.RawSelector)
			note("fieldSelector", 0, err)
		} else {
			read, err := readFieldRequirements(s.Requirements)
			note("fieldSelector", read, err)
		}
	}
	if s := r.LabelSelector; s != nil {
		if s.RawSelector != "" {
			_, err := labels.Parse(s.RawSelector)
			note("labelSelector", 0, err)
		} else {
			read, err := readLabelRequirements(s.Requirements)
			note("labelSelector", read, err)
		}
	}
	return problems
}

// fieldSelectorOf returns the field selector of the request that is asked about. Requirements
// that cannot be read are left out, as upstream: the request then selects more.
func fieldSelectorOf(r *authorizationv1.ResourceAttributes) string {
	if r.FieldSelector == nil {
		return ""
	}
	if r.FieldSelector.RawSelector != "" {
		return r.FieldSelector.RawSelector
	}
	var all []fields.Selector
	for _, r := range r.FieldSelector.Requirements {
		switch {
		case len(r.Values) != 1:
		case r.Operator == metav1.FieldSelectorOpIn:
			all = append(all, fields.OneTermEqualSelector(r.Key, r.Values[0]))
		case r.Operator == metav1.FieldSelectorOpNotIn:
			all = append(all, fields.OneTermNotEqualSelector(r.Key, r.Values[0]))
		}
	}
	return fields.AndSelectors(all...).String()
}

// labelSelectorOf returns the label selector of a review, without the requirements that are not
// valid.
func labelSelectorOf(r *authorizationv1.ResourceAttributes) string {
	if r.LabelSelector == nil {
		return ""
	}
	if r.LabelSelector.RawSelector != "" {
		return r.LabelSelector.RawSelector
	}
	selector := labels.NewSelector()
	for _, r := range r.LabelSelector.Requirements {
		one, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}})
		if err != nil {
			continue
		}
		if requirements, selectable := one.Requirements(); selectable {
			selector = selector.Add(requirements...)
		}
	}
	return selector.String()
}

func readFieldRequirements(requirements []metav1.FieldSelectorRequirement) (read int, err error) {
	for _, r := range requirements {
		switch {
		case r.Operator != metav1.FieldSelectorOpIn && r.Operator != metav1.FieldSelectorOpNotIn:
			err = errors.Join(err, fmt.Errorf("%q is not an operator of field selectors", r.Operator))
		case len(r.Values) != 1:
			err = errors.Join(err, fmt.Errorf("%s needs one value", r.Key))
		default:
			read++
		}
	}
	return read, err
}

func readLabelRequirements(requirements []metav1.LabelSelectorRequirement) (read int, err error) {
	for _, r := range requirements {
		if _, problem := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}); problem != nil {
			err = errors.Join(err, problem)
		} else {
			read++
		}
	}
	return read, err
}

func validateSubject(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateOneOf(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, validateSelectors(spec.ResourceAttributes)...)
}

func validateAccess(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	return append(validateOneOf(resource, path), validateSelectors(resource)...)
}

func validateOneOf(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	spec := field.NewPath("spec")
	switch {
	case resource != nil && path != nil:
		return field.ErrorList{field.Invalid(spec.Child("nonResourceAttributes"), path, "cannot be specified in combination with resourceAttributes")}
	case resource == nil && path == nil:
		return field.ErrorList{field.Invalid(spec.Child("resourceAttributes"), path, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
	}
	return nil
}

func validateNoMetadata(m metav1.ObjectMeta, problem string) field.ErrorList {
	m.ManagedFields = nil
	if apiequality.Semantic.DeepEqual(metav1.ObjectMeta{}, m) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), m, problem)}
}

func validateSelectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec.resourceAttributes")
	if s := r.FieldSelector; s != nil {
		path := path.Child("fieldSelector")
		errs = append(errs, validateSelectorForm(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateFieldSelectorRequirement(requirement,
				metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	if s := r.LabelSelector; s != nil {
		path := path.Child("labelSelector")
		errs = append(errs, validateSelectorForm(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateLabelSelectorRequirement(requirement,
				metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func validateSelectorForm(path *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path))}
	}
	return nil
}
