package reviews_test

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/reviews"
	"minikcm.dev/minikcm/internal/auth"
)

// asked keeps what it was asked last, and allows everything.
type asked struct {
	auth.AlwaysAllow
	last auth.Attributes
}

func (a *asked) Authorize(ctx context.Context, about auth.Attributes) (auth.Decision, string, error) {
	a.last = about
	return a.AlwaysAllow.Authorize(ctx, about)
}

// TestSelectors asks about lists with selectors. Unreadable parts of a selector are left out, and
// the response says so.
func TestSelectors(t *testing.T) {
	in := func(operator metav1.LabelSelectorOperator) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: "app", Operator: operator, Values: []string{"a"}}
	}
	for name, test := range map[string]struct {
		resource                 authorizationv1.ResourceAttributes
		fields, labels, problems string
	}{
		"none": {},
		"read": {
			authorizationv1.ResourceAttributes{
				FieldSelector: &authorizationv1.FieldSelectorAttributes{RawSelector: "a=b"},
				LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{in(metav1.LabelSelectorOpIn)}},
			}, "a=b", "app in (a)", "",
		},
		"in part": {
			authorizationv1.ResourceAttributes{LabelSelector: &authorizationv1.LabelSelectorAttributes{
				Requirements: []metav1.LabelSelectorRequirement{in("Near"), in(metav1.LabelSelectorOpNotIn)},
			}}, "", "app notin (a)", "spec.resourceAttributes.labelSelector partially ignored due to parse error",
		},
		"not at all": {
			authorizationv1.ResourceAttributes{FieldSelector: &authorizationv1.FieldSelectorAttributes{
				Requirements: []metav1.FieldSelectorRequirement{{Key: "a", Operator: "Near", Values: []string{"b"}}},
			}}, "", "", "spec.resourceAttributes.fieldSelector ignored due to parse error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			questions := &asked{}
			reviewer := &reviews.Reviewer{Questions: questions}
			answers := reviewer.Answers(&request.Request{Row: &resources.Resource{}, User: &auth.User{Name: "me"}})
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &test.resource}}
			answered, err := answers.ReviewSelfAccess(t.Context(), review, func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := questions.last; got.User.Name != "me" || got.FieldSelector != test.fields || got.LabelSelector != test.labels {
				t.Errorf("asked about %+v", got)
			}
			if !answered.Status.Allowed || answered.Status.EvaluationError != test.problems {
				t.Errorf("answered %+v", answered.Status)
			}
		})
	}
}
