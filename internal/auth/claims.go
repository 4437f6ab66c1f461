package auth

import (
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// LegacyIssuer is the issuer of tokens that are stored in secrets, as upstream.
const LegacyIssuer = "kubernetes/serviceaccount"

// Claims are the claims of a token. Bound has the claims of a bound token (KEP-1205,
// KEP-4193), the fields after it the claims of a token from a Secret.
type Claims struct {
	jwt.RegisteredClaims
	Bound *BoundClaims `json:"kubernetes.io,omitempty"`

	LegacyNamespace string `json:"kubernetes.io/serviceaccount/namespace,omitempty"`
	LegacySecret    string `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
	LegacyAccount   string `json:"kubernetes.io/serviceaccount/service-account.name,omitempty"`
	LegacyUID       string `json:"kubernetes.io/serviceaccount/service-account.uid,omitempty"`
}

// BoundClaims identify the service account of a token and the objects that it is bound
// to.
type BoundClaims struct {
	Namespace string           `json:"namespace,omitempty"`
	Account   ObjectClaim      `json:"serviceaccount,omitzero"`
	Pod       *ObjectClaim     `json:"pod,omitempty"`
	Secret    *ObjectClaim     `json:"secret,omitempty"`
	Node      *ObjectClaim     `json:"node,omitempty"`
	WarnAfter *jwt.NumericDate `json:"warnafter,omitempty"`
}

// ObjectClaim identifies an object.
type ObjectClaim struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// Binding is the service account of a token and the objects that it is bound to. At
// most one of Pod and Secret is set; Node is the pod's node, or the token is bound to
// the node itself.
type Binding struct {
	Account *corev1.ServiceAccount
	Pod     *corev1.Pod
	Secret  *corev1.Secret
	Node    *corev1.Node
}

// claims returns the claims of a new token that is valid for lifetime. With warnAfter
// above zero, later uses of the token still succeed but are reported with a warning.
func (b *Binding) claims(id string, audiences []string, now time.Time, lifetime, warnAfter time.Duration) *Claims {
	c := &Claims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID: id, Subject: AccountName(b.Account.Namespace, b.Account.Name), Audience: audiences,
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
		},
		Bound: &BoundClaims{
			Namespace: b.Account.Namespace,
			Account:   ObjectClaim{Name: b.Account.Name, UID: string(b.Account.UID)},
		},
	}
	if b.Pod != nil {
		c.Bound.Pod = &ObjectClaim{Name: b.Pod.Name, UID: string(b.Pod.UID)}
	}
	if b.Secret != nil {
		c.Bound.Secret = &ObjectClaim{Name: b.Secret.Name, UID: string(b.Secret.UID)}
	}
	if b.Node != nil {
		c.Bound.Node = &ObjectClaim{Name: b.Node.Name, UID: string(b.Node.UID)}
	}
	if warnAfter > 0 {
		c.Bound.WarnAfter = jwt.NewNumericDate(now.Add(warnAfter))
	}
	return c
}

// AccountName returns the user name of a service account.
func AccountName(namespace, name string) string { return serviceaccount.MakeUsername(namespace, name) }

// AccountGroups returns the groups of a namespace's service accounts, without
// GroupAuthenticated.
func AccountGroups(namespace string) []string { return serviceaccount.MakeGroupNames(namespace) }

// boundUser returns the user of a bound token, with upstream's extra keys (KEP-2799,
// KEP-4193).
func (c *Claims) boundUser() *User {
	b := c.Bound
	u := &User{
		Name: AccountName(b.Namespace, b.Account.Name), UID: b.Account.UID,
		Groups: append(AccountGroups(b.Namespace), GroupAuthenticated), Extra: map[string][]string{},
	}
	set := func(key, value string) {
		if value != "" {
			u.Extra[key] = []string{value}
		}
	}
	if b.Pod != nil && b.Pod.Name != "" && b.Pod.UID != "" {
		set(serviceaccount.PodNameKey, b.Pod.Name)
		set(serviceaccount.PodUIDKey, b.Pod.UID)
	}
	if b.Node != nil && b.Node.Name != "" {
		set(serviceaccount.NodeNameKey, b.Node.Name)
		set(serviceaccount.NodeUIDKey, b.Node.UID)
	}
	if c.ID != "" {
		set(user.CredentialIDKey, "JTI="+c.ID)
	}
	if len(u.Extra) == 0 {
		u.Extra = nil
	}
	return u
}

// looksLikeToken is a cheap check that rejects most strings that are not service
// account tokens.
func looksLikeToken(token string) bool {
	return strings.Count(token, ".") == 2 && !strings.HasPrefix(strings.TrimSpace(token), "{")
}
