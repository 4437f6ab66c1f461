package reviews

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/auth"
)

const (
	defaultTokenSeconds = 60 * 60
	minTokenSeconds     = 10 * 60
	maxTokenSeconds     = 1 << 32
	// A pod's projected token is requested with warnTokenSeconds and is valid for
	// extendedTokenSeconds, so that clients that never reread it keep working (KEP-2799).
	warnTokenSeconds     = 60*60 + 7
	extendedTokenSeconds = 365 * 24 * 60 * 60
)

// RequestToken serves serviceaccounts/token (Kubernetes API reference, "TokenRequest").
func (a Answers) RequestToken(ctx context.Context, asked *authenticationv1.TokenRequest, admit func() error) (*authenticationv1.TokenRequest, error) {
	kind := a.rq.Kind().GroupKind()
	if asked.Name != "" && asked.Name != a.rq.Name {
		return nil, apierrors.NewInvalid(kind, a.rq.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), asked.Name, "must match the service account name if specified"),
		})
	}
	account, err := storage.Get[*corev1.ServiceAccount](ctx, a.reviewer.Objects("serviceaccounts"), a.rq.Namespace, a.rq.Name)
	if err != nil {
		return nil, err
	}
	if asked.UID != "" && asked.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, a.rq.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", asked.UID, account.UID))
	}
	now := a.reviewer.Now()
	asked.Name, asked.Namespace, asked.UID, asked.CreationTimestamp = account.Name, account.Namespace, account.UID, now
	asked.Status = authenticationv1.TokenRequestStatus{}
	if len(asked.Spec.Audiences) == 0 {
		asked.Spec.Audiences = a.reviewer.Tokens.Audiences()
	}
	if asked.Spec.ExpirationSeconds == nil {
		asked.Spec.ExpirationSeconds = ptr.To[int64](defaultTokenSeconds)
	}
	if errs := validateTokenRequest(asked); len(errs) > 0 {
		return nil, apierrors.NewInvalid(kind, "", errs)
	}
	if err := admit(); err != nil {
		return nil, err
	}
	binding := &auth.Binding{Account: account}
	if asked.Spec.BoundObjectRef != nil {
		if err := a.bindToken(ctx, binding, asked.Spec.BoundObjectRef); err != nil {
			return nil, err
		}
	}
	seconds, warnAfter := *asked.Spec.ExpirationSeconds, int64(0)
	if binding.Pod != nil && seconds == warnTokenSeconds && a.isOwnAudience(asked.Spec.Audiences) {
		seconds, warnAfter = extendedTokenSeconds, seconds
	}
	token, err := a.reviewer.Tokens.Issue(binding, asked.Spec.Audiences, inSeconds(seconds), inSeconds(warnAfter))
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	asked.Status.Token = token
	asked.Status.ExpirationTimestamp = metav1.NewTime(now.Add(inSeconds(*asked.Spec.ExpirationSeconds)))
	return asked, nil
}

func inSeconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func (a Answers) isOwnAudience(audiences []string) bool {
	own := a.reviewer.Tokens.Audiences()
	return !slices.ContainsFunc(audiences, func(a string) bool { return !slices.Contains(own, a) })
}

func validateTokenRequest(asked *authenticationv1.TokenRequest) field.ErrorList {
	path, seconds := field.NewPath("spec", "expirationSeconds"), *asked.Spec.ExpirationSeconds
	switch {
	case seconds < minTokenSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration less than 10 minutes")}
	case seconds > maxTokenSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")}
	}
	return nil
}

// bindToken binds the token to an object: it becomes invalid when the object is deleted.
func (a Answers) bindToken(ctx context.Context, b *auth.Binding, ref *authenticationv1.BoundObjectReference) error {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var uid types.UID
	var err error
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		if b.Pod, b.Node, err = a.podToBind(ctx, ref.Name); err == nil {
			uid = b.Pod.UID
		}
	case schema.GroupKind{Kind: "Secret"}:
		if b.Secret, err = storage.Get[*corev1.Secret](ctx, a.reviewer.Objects("secrets"), a.rq.Namespace, ref.Name); err == nil {
			uid = b.Secret.UID
		}
	case schema.GroupKind{Kind: "Node"}:
		if b.Node, err = storage.Get[*corev1.Node](ctx, a.reviewer.Objects("nodes"), "", ref.Name); err == nil {
			uid = b.Node.UID
		}
	default:
		return apierrors.NewBadRequest("cannot bind token to object of type " + kind.String())
	}
	if err != nil {
		return err
	}
	if ref.UID != "" && ref.UID != uid {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

// podToBind returns a pod of the request's service account, and its node if it has one. If
// the node does not exist, it has a name only.
func (a Answers) podToBind(ctx context.Context, name string) (*corev1.Pod, *corev1.Node, error) {
	pod, err := storage.Get[*corev1.Pod](ctx, a.reviewer.Objects("pods"), a.rq.Namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if pod.Spec.ServiceAccountName != a.rq.Name {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", a.rq.Name))
	}
	if pod.Spec.NodeName == "" {
		return pod, nil, nil
	}
	node, err := storage.Get[*corev1.Node](ctx, a.reviewer.Objects("nodes"), "", pod.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		node, err = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}, nil
	}
	return pod, node, err
}
