package authn

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noSecret and noAccount behave as a cluster without Secrets and service accounts: every
// lookup fails.
func noSecret(context.Context, string, string) (*corev1.Secret, error) {
	return nil, errors.New("not found")
}

func noAccount(context.Context, string, []string) (*auth.Verified, error) {
	return nil, auth.ErrNotAToken
}
