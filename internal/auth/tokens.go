package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"minikcm.dev/minikcm/clock"
)

// DefaultIssuer is the issuer of bound tokens and their default audience, as in
// kubeadm's clusters.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// leeway is the tolerated difference between clocks, and how long after its deletion
// timestamp an object still keeps its tokens valid, as upstream.
const leeway = time.Minute

// InvalidSinceLabel marks a secret whose token is no longer accepted.
const InvalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"

// ErrNotAToken is returned for a bearer token that is not one of the cluster's.
var ErrNotAToken = errors.New("invalid bearer token")

var (
	errNoKey       = errors.New("no keys found")
	errInvalidated = errors.New("service account token has been invalidated")
)

// Objects looks up the objects that tokens are bound to. An error means that the object
// does not exist.
type Objects interface {
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
}

// Tokens issues and verifies the tokens of service accounts. A token is valid until it
// expires, in cluster time, or its account or another object that it is bound to is
// deleted.
type Tokens struct {
	Key *TokenKey
	// Trusted are the keys that verify tokens; empty means Key.
	Trusted []*PublicTokenKey
	// Issuers are the accepted issuers of bound tokens, of which the first issues the new
	// ones; empty means DefaultIssuer.
	Issuers []string
	// OwnAudiences are the audiences of the API server; empty means Issuers.
	OwnAudiences []string
	Objects      Objects
	Clock        clock.Clock
	// NewID generates the ID of a token.
	NewID func(account *corev1.ServiceAccount) string

	// verified caches the claims of tokens with a valid signature, by hash, because
	// verifying a signature costs more than the rest of a small request. What may
	// change (the time, the objects that a token is bound to) is checked each time.
	verified recent[[sha256.Size]byte, *Claims]
}

// Audiences returns the audiences of the apiserver itself.
func (t *Tokens) Audiences() []string {
	if len(t.OwnAudiences) > 0 {
		return t.OwnAudiences
	}
	return t.issuers()
}

func (t *Tokens) issuers() []string {
	if len(t.Issuers) > 0 {
		return t.Issuers
	}
	return []string{DefaultIssuer}
}

func (t *Tokens) trusted() []*PublicTokenKey {
	if len(t.Trusted) > 0 {
		return t.Trusted
	}
	return []*PublicTokenKey{&t.Key.PublicTokenKey}
}

// Issue issues a bound token.
func (t *Tokens) Issue(b *Binding, audiences []string, lifetime, warnAfter time.Duration) (string, error) {
	claims := b.claims(t.NewID(b.Account), audiences, t.Clock.Now(), lifetime, warnAfter)
	claims.Issuer = t.issuers()[0]
	return t.Key.sign(claims)
}

// IssueLegacy issues the token of a secret of type kubernetes.io/service-account-token:
// it is valid as long as the secret has it.
func (k *TokenKey) IssueLegacy(account *corev1.ServiceAccount, secret string) (string, error) {
	return k.sign(&Claims{
		RegisteredClaims: jwt.RegisteredClaims{Issuer: LegacyIssuer, Subject: AccountName(account.Namespace, account.Name)},
		LegacyNamespace:  account.Namespace, LegacyAccount: account.Name, LegacyUID: string(account.UID), LegacySecret: secret,
	})
}

func (k *TokenKey) sign(claims *Claims) (string, error) {
	token := jwt.NewWithClaims(k.method, claims)
	token.Header = map[string]any{"alg": token.Method.Alg(), "kid": k.id}
	signed, err := token.SignedString(k.key)
	if err != nil {
		return "", fmt.Errorf("signing the token of %s: %w", claims.Subject, err)
	}
	return signed, nil
}

// Verified describes a valid token.
type Verified struct {
	User *User
	// Audiences are the requested audiences that the token has.
	Audiences []string
	// Warning, if not empty, is to be sent to the client.
	Warning string
	// Secret is the secret of a legacy token, or nil.
	Secret *corev1.Secret
}

// Verify verifies a token, which must have one of audiences; empty means the
// apiserver's own. The error has upstream's text.
func (t *Tokens) Verify(ctx context.Context, token string, audiences []string) (*Verified, error) {
	hash := sha256.Sum256([]byte(token))
	claims, known := t.verified.get(hash)
	if !known {
		var err error
		if claims, err = t.parse(token); err != nil {
			return nil, err
		}
		t.verified.put(hash, claims)
	}
	meant := []string(claims.Audience)
	if len(meant) == 0 { // legacy tokens have no audience
		meant = t.Audiences()
	}
	if len(audiences) == 0 {
		audiences = t.Audiences()
	}
	both := slices.DeleteFunc(slices.Clone(meant), func(a string) bool { return !slices.Contains(audiences, a) })
	if len(both) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", meant, audiences)
	}
	verified := &Verified{Audiences: both}
	if claims.Issuer == LegacyIssuer {
		return verified, t.verifyLegacy(ctx, token, claims, verified)
	}
	if err := t.verifyBound(ctx, claims); err != nil {
		return nil, err
	}
	verified.User = claims.boundUser()
	return verified, nil
}

// parse verifies the signature of a token, and nothing else. A token of another issuer is
// not a token, whatever it is signed with.
func (t *Tokens) parse(token string) (*Claims, error) {
	if !looksLikeToken(token) {
		return nil, ErrNotAToken
	}
	claims := &Claims{}
	unverified, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil && !errors.Is(err, jwt.ErrTokenUnverifiable) || claims.Issuer != LegacyIssuer && !slices.Contains(t.issuers(), claims.Issuer) {
		return nil, ErrNotAToken
	}
	failure := fmt.Errorf("invalid signature, %w", errNoKey)
	for _, key := range t.trusted() {
		if unverified != nil {
			if id, named := unverified.Header["kid"]; named && id != key.id {
				continue
			}
		}
		if claims, err = key.parse(token); err == nil {
			return claims, nil
		}
		failure = err
	}
	return nil, failure
}

// parse returns the claims of a token that the key's private half signed.
func (k *PublicTokenKey) parse(token string) (*Claims, error) {
	claims := &Claims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{k.method.Alg()}), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding())
	_, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return k.public, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return nil, ErrNotAToken
	case err != nil:
		return nil, fmt.Errorf("invalid signature, %w", err)
	}
	return claims, nil
}

func (t *Tokens) verifyBound(ctx context.Context, c *Claims) error {
	now := t.Clock.Now()
	if c.Bound == nil {
		return ErrNotAToken
	}
	switch {
	case c.ExpiresAt == nil || now.Add(-leeway).After(c.ExpiresAt.Time):
		return errors.New("service account token has expired")
	case c.NotBefore != nil && now.Add(leeway).Before(c.NotBefore.Time):
		return errors.New("service account token is not valid yet")
	case c.IssuedAt != nil && now.Add(leeway).Before(c.IssuedAt.Time):
		return errors.New("service account token is issued in the future")
	}
	since := now.Add(-leeway)
	b := c.Bound
	account, err := t.Objects.ServiceAccount(ctx, b.Namespace, b.Account.Name)
	switch {
	case err != nil:
		return err
	case string(account.UID) != b.Account.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", account.UID, b.Account.UID)
	case goneSince(account, since):
		return fmt.Errorf("service account %s/%s has been deleted", b.Namespace, b.Account.Name)
	}
	if b.Secret != nil {
		secret, err := t.Objects.Secret(ctx, b.Namespace, b.Secret.Name)
		if err := stillThere("secret", "service account secret", secret, err, b.Secret, since); err != nil {
			return err
		}
	}
	switch {
	case b.Pod != nil: // the pod's node is only informative and is not checked
		pod, err := t.Objects.Pod(ctx, b.Namespace, b.Pod.Name)
		return stillThere("pod", "service account pod", pod, err, b.Pod, since)
	case b.Node != nil:
		node, err := t.Objects.Node(ctx, b.Node.Name)
		return stillThere("node", "service account node", node, err, b.Node, since)
	}
	return nil
}

// stillThere checks an object that a token is bound to; err is the error of its
// look-up.
func stillThere(kind, what string, found metav1.Object, err error, claim *ObjectClaim, since time.Time) error {
	switch {
	case err != nil:
		return errInvalidated
	case string(found.GetUID()) != claim.UID:
		return fmt.Errorf("%s UID (%s) does not match %s ref claim (%s)", kind, found.GetUID(), what, claim.UID)
	case goneSince(found, since):
		return errInvalidated
	}
	return nil
}

// goneSince reports whether obj has a deletion timestamp before since.
func goneSince(obj metav1.Object, since time.Time) bool {
	deleted := obj.GetDeletionTimestamp()
	return deleted != nil && deleted.Time.Before(since)
}

// verifyLegacy verifies a token from a secret against the secret.
func (t *Tokens) verifyLegacy(ctx context.Context, token string, c *Claims, v *Verified) error {
	for _, claim := range []struct{ name, value string }{
		{"sub", c.Subject},
		{"namespace", c.LegacyNamespace},
		{"secretName", c.LegacySecret},
		{"serviceAccountName", c.LegacyAccount},
		{"serviceAccountUID", c.LegacyUID},
	} {
		if claim.value == "" {
			return fmt.Errorf("%s claim is missing", claim.name)
		}
	}
	if namespace, name, err := serviceaccount.SplitUsername(c.Subject); err != nil || namespace != c.LegacyNamespace || name != c.LegacyAccount {
		return errors.New("sub claim is invalid")
	}
	secret, err := t.Objects.Secret(ctx, c.LegacyNamespace, c.LegacySecret)
	if err != nil || secret.DeletionTimestamp != nil {
		//lint:ignore ST1005 clients see upstream's text
		return errors.New("Token has been invalidated")
	}
	if subtle.ConstantTimeCompare(secret.Data[corev1.ServiceAccountTokenKey], []byte(token)) == 0 {
		//lint:ignore ST1005 clients see upstream's text
		return errors.New("Token does not match server's copy")
	}
	account, err := t.Objects.ServiceAccount(ctx, c.LegacyNamespace, c.LegacyAccount)
	switch {
	case err != nil:
		return err
	case account.DeletionTimestamp != nil:
		return fmt.Errorf("ServiceAccount %s/%s has been deleted", c.LegacyNamespace, c.LegacyAccount)
	case string(account.UID) != c.LegacyUID:
		return fmt.Errorf("ServiceAccount UID (%s) does not match claim (%s)", account.UID, c.LegacyUID)
	}
	v.Secret = secret
	if secret.Labels[InvalidSinceLabel] != "" {
		return fmt.Errorf("the token in secret %s/%s for service account %s/%s has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the secret to temporarily allow use of this token",
			secret.Namespace, secret.Name, c.LegacyNamespace, c.LegacyAccount, InvalidSinceLabel)
	}
	if slices.ContainsFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret.Name }) {
		v.Warning = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens."
	}
	v.User = &User{Name: c.Subject, UID: c.LegacyUID, Groups: append(AccountGroups(c.LegacyNamespace), GroupAuthenticated)}
	return nil
}
