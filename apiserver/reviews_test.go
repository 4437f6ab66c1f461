package apiserver_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/auth"
)

func TestAccessReviews(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		reviews := h.client(cfg).AuthorizationV1()
		resource := &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "pods"}
		self := must(reviews.SelfSubjectAccessReviews().Create(h.ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: resource},
		}, metav1.CreateOptions{}))(t)
		if !self.Status.Allowed || self.Status.Denied || self.Spec.ResourceAttributes.Resource != "pods" {
			t.Errorf("the requesting user: %v", self)
		}
		for user, want := range map[string]bool{"jane": true, "system:anonymous": false} {
			got := must(reviews.SubjectAccessReviews().Create(h.ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: resource},
			}, metav1.CreateOptions{}))(t)
			if got.Status.Allowed != want {
				t.Errorf("%s: %v", user, got.Status)
			}
			local := must(reviews.LocalSubjectAccessReviews("default").Create(h.ctx, &authorizationv1.LocalSubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
				Spec:       authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: resource},
			}, metav1.CreateOptions{}))(t)
			if local.Status.Allowed != want {
				t.Errorf("%s: %v", user, local.Status)
			}
		}
		rules := must(reviews.SelfSubjectRulesReviews().Create(h.ctx, &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"},
		}, metav1.CreateOptions{}))(t)
		all := []string{"*"}
		want := authorizationv1.SubjectRulesReviewStatus{
			ResourceRules:    []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}},
			NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}
		if diff := cmp.Diff(want, rules.Status); diff != "" {
			t.Error(diff)
		}
	}, allowAll)
}

// TestAccessReviewsRefused sends reviews that are empty, ambiguous or invalid.
func TestAccessReviewsRefused(t *testing.T) {
	h := start(t)
	const reviews = "/apis/authorization.k8s.io/v1/"
	for name, test := range map[string]struct {
		path, body string
		code       int32
		reason     metav1.StatusReason
		text       string
	}{
		"nothing": {
			"subjectaccessreviews", `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{}}`, 422, metav1.StatusReasonInvalid,
			`.authorization.k8s.io "" is invalid: [spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]`,
		},
		"both": {
			"selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"/","verb":"get"}}}`, 422, metav1.StatusReasonInvalid,
			`spec: Invalid value: {"Path":"/","Verb":"get"}: exactly one of nonResourceAttributes or resourceAttributes must be specified`,
		},
		"a name": {
			"selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"name":"x"},"spec":{"resourceAttributes":{}}}`, 422, metav1.StatusReasonInvalid,
			`metadata: Invalid value: {"name":"x"}: must be empty`,
		},
		"another namespace": {
			"namespaces/default/localsubjectaccessreviews", `{"kind":"LocalSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"x","resourceAttributes":{"namespace":"y"}}}`, 422, metav1.StatusReasonInvalid,
			`spec.resourceAttributes.namespace: Invalid value: "y": must match metadata.namespace`,
		},
		"selectors": {
			"selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"fieldSelector":{},"labelSelector":{"rawSelector":"a","requirements":[{"key":"a","operator":"In"}]}}}}`, 422, metav1.StatusReasonInvalid,
			"spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
		},
		"no namespace": {
			"selfsubjectrulesreviews", `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":{}}`, 400, metav1.StatusReasonBadRequest, "no namespace on request",
		},
		"to be read": {"subjectaccessreviews/x", "", 404, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.body == "" {
				if r := h.send(http.MethodGet, reviews+test.path, ""); r.code != 405 && r.code != 404 {
					t.Errorf("%d\n%s", r.code, r.body)
				}
				return
			}
			wantReply(t, h.send(http.MethodPost, reviews+test.path, test.body), test.code, test.reason, test.text)
		})
	}
	r := h.mustSend(http.MethodPost, reviews+"selfsubjectaccessreviews",
		`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"verb":"list","resource":"pods","labelSelector":{"requirements":[{"key":"a","operator":"New"},{"key":"b","operator":"Exists"}]},"fieldSelector":{"rawSelector":"a"}}}}`)
	var got authorizationv1.SelfSubjectAccessReview
	r.into(t, &got)
	if want := "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector partially ignored due to parse error"; got.Status.EvaluationError != want {
		t.Errorf("evaluation error %q", got.Status.EvaluationError)
	}
}

func TestImpersonation(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "jane", UID: "7", Groups: []string{"a"}, Extra: map[string][]string{"acme.com/project": {"x"}}}
		self := must(h.client(cfg).AuthenticationV1().SelfSubjectReviews().Create(h.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t)
		want := newUserInfo("jane", "7", []string{"a", "system:authenticated"}, "acme.com/project", "x")
		if diff := cmp.Diff(want, self.Status.UserInfo); diff != "" {
			t.Error(diff)
		}
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:anonymous"}
		_, err := h.client(cfg).CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{})
		wantStatus(t, err, 403, metav1.StatusReasonForbidden, `pods is forbidden: User "system:anonymous" cannot list resource "pods"`)
	})
	h := start(t)
	r := h.send(http.MethodGet, "/api/v1/pods", "", "Impersonate-Group", "a")
	wantReply(t, r, 400, metav1.StatusReasonBadRequest, "without impersonating a user name")
	r = h.raw(h.asBearer(""), http.MethodGet, "/api/v1/pods", "", "Impersonate-User", "jane")
	wantReply(t, r, 403, metav1.StatusReasonForbidden, `pods is forbidden: User "system:anonymous" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope`)
}

// TestPathsAreAuthorized requests every kind of path as a user without permissions.
func TestPathsAreAuthorized(t *testing.T) {
	h := start(t)
	cfg := h.server.Config(auth.UserAnonymous, auth.GroupUnauthenticated)
	for _, path := range []string{
		"/", "/api", "/api/", "/api/v1", "/api/v1/", "/api//", "/api//x", "/apis/a", "/apis/a/b", "/apis/a/b/", "/apis//b/c", "/api/v1//", "/api/v1/pods/a/b/c/d",
		"/api/v1/pods", "/apis/apps/v1/deployments", "/openapi/v2", "/openapi/v3", "/metrics", "/minikcm/v1/writes", "/none", "//api/v1/pods", "/api/%76%31/pods", "/apis/x%2Fy/z/w",
		"/.well-known/openid-configuration", "/openid/v1/jwks", "/api/v1/namespaces/default/pods/x/proxy/healthz",
	} {
		if r := h.raw(cfg, http.MethodGet, path, ""); r.code != http.StatusForbidden {
			t.Errorf("%s: %d", path, r.code)
		}
	}
}

func newUserInfo(name, uid string, groups []string, extra ...string) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: name, UID: uid, Groups: groups, Extra: map[string]authenticationv1.ExtraValue{}}
	for i := 0; i < len(extra); i += 2 {
		info.Extra[extra[i]] = authenticationv1.ExtraValue{extra[i+1]}
	}
	return info
}
