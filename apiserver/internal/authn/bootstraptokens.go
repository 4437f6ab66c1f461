package authn

import (
	"context"
	"crypto/subtle"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	"k8s.io/cluster-bootstrap/util/secrets"
	"k8s.io/cluster-bootstrap/util/tokens"
	"k8s.io/klog/v2"
)

// bootstrapTokens authenticates bootstrap tokens (Kubernetes documentation, "Authenticating
// with Bootstrap Tokens"). They expire on the cluster's clock.
type bootstrapTokens struct{ deps Dependencies }

func (a *Authenticators) useBootstrapTokens(opts *Options) error {
	if opts.BootstrapTokens {
		a.knows(&a.after, bootstrapTokens{a.deps})
	}
	return nil
}

// AuthenticateToken implements authenticator.Token. A token that is not valid is not known:
// only the log says why.
func (b bootstrapTokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	id, secret, err := tokens.ParseToken(token)
	if err != nil {
		return nil, false, nil // another kind of token
	}
	name := bootstraputil.BootstrapTokenSecretName(id)
	stored, err := b.deps.Secret(ctx, metav1.NamespaceSystem, name)
	if err != nil {
		b.deps.Logger.Info("Unknown bootstrap token", "secret", klog.KRef(metav1.NamespaceSystem, name))
		return nil, false, nil
	}
	groups, err := b.check(stored, id, secret)
	if err != nil {
		b.deps.Logger.Info("Invalid bootstrap token", "secret", klog.KObj(stored), "reason", err.Error())
		return nil, false, nil
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: bootstrapapi.BootstrapUserPrefix + id, Groups: groups}}, true, nil
}

// check returns the groups of a valid token.
func (b bootstrapTokens) check(stored *corev1.Secret, id, secret string) ([]string, error) {
	switch data := stored.Data; {
	case stored.DeletionTimestamp != nil:
		return nil, fmt.Errorf("the secret is being deleted")
	case stored.Type != bootstrapapi.SecretTypeBootstrapToken:
		return nil, fmt.Errorf("the secret is of type %s, not %s", stored.Type, bootstrapapi.SecretTypeBootstrapToken)
	case subtle.ConstantTimeCompare(data[bootstrapapi.BootstrapTokenSecretKey], []byte(secret)) != 1:
		return nil, fmt.Errorf("%s differs", bootstrapapi.BootstrapTokenSecretKey)
	case string(data[bootstrapapi.BootstrapTokenIDKey]) != id:
		return nil, fmt.Errorf("%s differs", bootstrapapi.BootstrapTokenIDKey)
	case secrets.HasExpired(stored, b.deps.Clock.Now()):
		return nil, fmt.Errorf("it expired at %s", data[bootstrapapi.BootstrapTokenExpirationKey])
	case string(data[bootstrapapi.BootstrapTokenUsageAuthentication]) != "true":
		return nil, fmt.Errorf("%s is not true", bootstrapapi.BootstrapTokenUsageAuthentication)
	}
	return secrets.GetGroups(stored)
}
