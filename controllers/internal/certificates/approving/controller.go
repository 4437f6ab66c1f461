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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"

	"minikcm.dev/minikcm/controllers/internal/certificates"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "certificatesigningrequest-approving-controller"

const (
	workers = 5
	// askAgain is the delay before the access review of a refused requester is repeated.
	askAgain = 5 * time.Minute
)

// Controller approves requests. Its keys are their names.
type Controller struct {
	client   kubernetes.Interface
	requests certificateslisters.CertificateSigningRequestLister
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	requests := e.Informers.CertificateSigningRequests()
	c := &Controller{client: client, requests: requests.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(requests.Informer(), certificates.Wake)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile approves the request if its requester is authorized.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	request, err := c.requests.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting certificate signing request %s: %w", key.Name, err)
	}
	if Settled(request) || request.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return loop.Result{}, nil
	}
	parsed, err := certificates.Parse(request)
	if err != nil {
		return loop.Result{}, fmt.Errorf("reading certificate signing request %s: %w", key.Name, err)
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
