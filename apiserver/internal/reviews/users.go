package reviews

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/auth"
)

// ReviewToken returns the user of a token (Kubernetes API reference, "TokenReview").
func (a Answers) ReviewToken(ctx context.Context, asked *authenticationv1.TokenReview, admit func() error) (*authenticationv1.TokenReview, error) {
	if asked.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if err := admit(); err != nil {
		return nil, err
	}
	asked.Status = authenticationv1.TokenReviewStatus{}
	verified, err := a.reviewer.Verify(ctx, asked.Spec.Token, asked.Spec.Audiences)
	if err != nil {
		asked.Status.Error = err.Error()
		return asked, nil
	}
	asked.Status.Authenticated = true
	asked.Status.User = userInfo(verified.User)
	asked.Status.Audiences = verified.Audiences
	return asked, nil
}

// ReviewSelf returns the requesting user (KEP-3325).
func (a Answers) ReviewSelf(_ context.Context, _ *authenticationv1.SelfSubjectReview, admit func() error) (*authenticationv1.SelfSubjectReview, error) {
	if err := admit(); err != nil {
		return nil, err
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: a.reviewer.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(a.rq.User)},
	}, nil
}

func userInfo(user *auth.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: user.Name, UID: user.UID, Groups: user.Groups}
	for key, values := range user.Extra {
		if info.Extra == nil {
			info.Extra = make(map[string]authenticationv1.ExtraValue, len(user.Extra))
		}
		info.Extra[key] = values
	}
	return info
}
