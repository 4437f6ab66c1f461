package approving

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/certificates"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	// askAgain is the delay before the access review of a refused requester is repeated.
	askAgain = 5 * time.Minute
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "certificatesigningrequest-approving-controller", Workers: 5, Aliases: []string{"csrapproving"}, Account: "certificate-controller",
		About:   "approves the certificate signing requests of nodes that may make them",
		Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests/approval"},
		Docs:  "reference/access-authn-authz/certificate-signing-requests/",
		Build: build,
	}
}

// Controller approves requests. Its keys are their names.
type Controller struct {
	client kubernetes.Interface
}

func build(p *controller.Parts) error {
	requests := p.Informers.CertificateSigningRequests()
	c := &Controller{client: p.Client}
	l := p.Loop(controller.Each(requests.Informer(), c.reconcile))
	l.Watch(requests.Informer(), loop.Present)
	return nil
}

// reconcile approves the request if its requester is authorized.
func (c *Controller) reconcile(ctx context.Context, request *certificatesv1.CertificateSigningRequest) (loop.Result, error) {
	if Settled(request) || request.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return loop.Result{}, nil
	}
	parsed, err := certificates.Parse(request)
	if err != nil {
		return loop.Result{}, fmt.Errorf("reading certificate signing request %s: %w", request.Name, err)
	}
	permissions := Decide(request, parsed)
	for _, permission := range permissions {
		allowed, err := c.allowed(ctx, request, permission)
		if err != nil {
			return loop.Result{}, err
		}
		if allowed {
			return loop.Result{}, c.approve(ctx, request, permission)
		}
	}
	if len(permissions) > 0 {
		return loop.Result{RequeueAfter: askAgain}, nil
	}
	return loop.Result{}, nil
}

func (c *Controller) allowed(ctx context.Context, request *certificatesv1.CertificateSigningRequest, permission Permission) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: request.Spec.Username, UID: request.Spec.UID, Groups: request.Spec.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: certificatesv1.GroupName, Version: "*", Resource: "certificatesigningrequests", Subresource: permission.Subresource, Verb: "create",
		},
	}}
	for name, values := range request.Spec.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		review.Spec.Extra[name] = authorizationv1.ExtraValue(values)
	}
	answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("reviewing the access of %s: %w", request.Spec.Username, err)
	}
	return answer.Status.Allowed, nil
}

func (c *Controller) approve(ctx context.Context, request *certificatesv1.CertificateSigningRequest, permission Permission) error {
	request = request.DeepCopy()
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: permission.Message,
	})
	_, err := c.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, request.Name, request, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("approving certificate signing request %s: %w", request.Name, err)
	}
	return nil
}
