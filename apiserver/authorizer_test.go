package apiserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
)

// forbidding is an Authorizer that denies one user everything that refuse matches.
type forbidding struct {
	user   string
	refuse func(a auth.Attributes) bool
}

func (f forbidding) Authorize(_ context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if a.User.Name == f.user && f.refuse(a) {
		return auth.Deny, "the test says so", nil
	}
	return auth.Allow, "", nil
}

func (f forbidding) RulesFor(context.Context, *auth.User, string) (auth.Rules, error) {
	return auth.Rules{Paths: []auth.PathRule{{Verbs: []string{"get"}, Paths: []string{"/x/*"}}}, Incomplete: true}, errors.New("it is only a test")
}

// TestAuthorizerSeam makes one request of each form, all of which are denied.
func TestAuthorizerSeam(t *testing.T) {
	var asked []auth.Attributes
	h := start(t, func(o *apiserver.Options) {
		o.Authorizer = forbidding{"jane", func(a auth.Attributes) bool { a.User = nil; asked = append(asked, a); return true }}
	})
	cfg := h.server.Config("jane")
	for _, test := range []struct {
		method, path string
		want         auth.Attributes
		text         string
	}{
		{
			"GET", "/api/v1/namespaces/ns/pods/p/log?follow=true",
			auth.Attributes{Verb: "get", Resource: true, Version: "v1", Plural: "pods", Subresource: "log", Namespace: "ns", Name: "p"},
			`pods "p" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "ns": the test says so`,
		},
		{
			"GET", "/apis/apps/v1/deployments?watch=1",
			auth.Attributes{Verb: "watch", Resource: true, Group: "apps", Version: "v1", Plural: "deployments"},
			`deployments.apps is forbidden: User "jane" cannot watch resource "deployments" in API group "apps" at the cluster scope: the test says so`,
		},
		{
			"DELETE", "/api/v1/namespaces/ns",
			auth.Attributes{Verb: "delete", Resource: true, Version: "v1", Plural: "namespaces", Namespace: "ns", Name: "ns"},
			`namespaces "ns" is forbidden: User "jane" cannot delete resource "namespaces" in API group "" in the namespace "ns": the test says so`,
		},
		{
			"DELETE", "/api/v1/namespaces/ns/pods",
			auth.Attributes{Verb: "deletecollection", Resource: true, Version: "v1", Plural: "pods", Namespace: "ns"},
			`pods is forbidden: User "jane" cannot deletecollection resource "pods"`,
		},
		{
			"POST", "/apis/none.example.com/v1/things",
			auth.Attributes{Verb: "create", Resource: true, Group: "none.example.com", Version: "v1", Plural: "things"},
			`things.none.example.com is forbidden: User "jane" cannot create resource "things" in API group "none.example.com" at the cluster scope`,
		},
		{"GET", "/metrics", auth.Attributes{Verb: "get", Path: "/metrics"}, `forbidden: User "jane" cannot get path "/metrics": the test says so`},
		{
			"POST", "/api/v1/a/b/c/d/e",
			auth.Attributes{Verb: "create", Resource: true, Version: "v1", Plural: "a", Subresource: "c", Name: "b"},
			`a "b" is forbidden: User "jane" cannot create resource "a/c" in API group "" at the cluster scope`,
		},
		{
			"GET", "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dp",
			auth.Attributes{Verb: "list", Resource: true, Version: "v1", Plural: "pods", Namespace: "ns", Name: "p", FieldSelector: "metadata.name=p"},
			`pods "p" is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "ns"`,
		},
		{
			"DELETE", "/api/v1/watch/namespaces/ns/pods/p",
			auth.Attributes{Verb: "watch", Resource: true, Version: "v1", Plural: "pods", Namespace: "ns", Name: "p"},
			`pods "p" is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "ns"`,
		},
	} {
		asked = nil
		wantReply(t, h.raw(cfg, test.method, test.path, ""), 403, metav1.StatusReasonForbidden, test.text)
		if diff := cmp.Diff([]auth.Attributes{test.want}, asked); diff != "" {
			t.Errorf("%s %s: %s", test.method, test.path, diff)
		}
	}
	review := must(h.client().AuthorizationV1().SubjectAccessReviews().Create(h.ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane", NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/x", Verb: "get"}},
	}, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff(authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "the test says so"}, review.Status); diff != "" {
		t.Error(diff)
	}
	rules := must(h.client().AuthorizationV1().SelfSubjectRulesReviews().Create(h.ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "ns"},
	}, metav1.CreateOptions{}))(t)
	if s := rules.Status; !s.Incomplete || s.EvaluationError != "it is only a test" || len(s.NonResourceRules) != 1 {
		t.Errorf("rules %v", s)
	}
}

// TestSignersNeedLeave approves and signs a certificate request as a user with write
// access to it but without permissions for its signer.
func TestSignersNeedLeave(t *testing.T) {
	h := start(t, func(o *apiserver.Options) {
		o.Authorizer = forbidding{"jane", func(a auth.Attributes) bool { return a.Plural == "signers" }}
	})
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	send := func(cfg *rest.Config, name string, groups ...string) (*certificatesv1.CertificateSigningRequest, error) {
		der := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x", Organization: groups}}, key))(t)
		return h.client(cfg).CertificatesV1().CertificateSigningRequests().Create(h.ctx, &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
				Usages: []certificatesv1.KeyUsage{"client auth"},
			},
		}, metav1.CreateOptions{})
	}
	jane := h.server.Config("jane")
	_, err := send(jane, "all", auth.GroupMasters)
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, `certificatesigningrequests.certificates.k8s.io "all" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed`)
	request := must(send(jane, "hers"))(t)
	if request.Spec.Username != "jane" {
		t.Errorf("it is of %s", request.Spec.Username)
	}
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	hers, ours := h.client(jane).CertificatesV1().CertificateSigningRequests(), h.client().CertificatesV1().CertificateSigningRequests()
	_, err = hers.UpdateApproval(h.ctx, "hers", request, metav1.UpdateOptions{})
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, `user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"`)
	request = must(ours.UpdateApproval(h.ctx, "hers", request, metav1.UpdateOptions{}))(t)
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue})
	_, err = hers.UpdateStatus(h.ctx, request, metav1.UpdateOptions{})
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, `user not permitted to sign requests with signerName "kubernetes.io/kube-apiserver-client"`)
	must(ours.UpdateStatus(h.ctx, request, metav1.UpdateOptions{}))(t)
}
