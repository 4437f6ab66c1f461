package resources

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reviewRows returns the queries about users and permissions.
func reviewRows() []*Resource {
	authentication, authorization := authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion
	local := reviewRow(authorization.WithKind("LocalSubjectAccessReview"), "localsubjectaccessreviews", answer(Request.ReviewLocalAccess),
		func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} })
	local.Namespaced = true
	return []*Resource{
		reviewRow(authentication.WithKind("SelfSubjectReview"), "selfsubjectreviews", answer(Request.ReviewSelf),
			func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }),
		reviewRow(authentication.WithKind("TokenReview"), "tokenreviews", answer(Request.ReviewToken),
			func() runtime.Object { return &authenticationv1.TokenReview{} }),
		local,
		reviewRow(authorization.WithKind("SelfSubjectAccessReview"), "selfsubjectaccessreviews", answer(Request.ReviewSelfAccess),
			func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }),
		reviewRow(authorization.WithKind("SelfSubjectRulesReview"), "selfsubjectrulesreviews", answer(Request.ReviewSelfRules),
			func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }),
		reviewRow(authorization.WithKind("SubjectAccessReview"), "subjectaccessreviews", answer(Request.ReviewAccess),
			func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }),
	}
}

func reviewRow(kind schema.GroupVersionKind, plural string, create Handler, newObject func() runtime.Object) *Resource {
	return &Resource{GroupVersionKind: kind, Plural: plural, Verbs: []string{"create"}, Create: create, New: newObject, Unhooked: true}
}
