package serviceaccounttoken

import (
	"bytes"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Wants are the missing parts of a secret.
type Wants struct{ CA, Namespace, Token bool }

// Any reports whether any part is missing.
func (w Wants) Any() bool { return w.CA || w.Namespace || w.Token }

// Lacking compares a secret's data with the data that it should have. A token is never replaced: a
// client that wants another one deletes this one.
func Lacking(secret *corev1.Secret, ca []byte) Wants {
	return Wants{
		CA:        len(ca) > 0 && !bytes.Equal(secret.Data[corev1.ServiceAccountRootCAKey], ca),
		Namespace: len(secret.Data[corev1.ServiceAccountNamespaceKey]) == 0,
		Token:     len(secret.Data[corev1.ServiceAccountTokenKey]) == 0,
	}
}

// Filled returns a copy of the secret with the missing parts. token is used if wants.Token
// is set.
func Filled(secret *corev1.Secret, account *corev1.ServiceAccount, wants Wants, ca []byte, token string) *corev1.Secret {
	filled := secret.DeepCopy()
	if filled.Data == nil {
		filled.Data = map[string][]byte{}
	}
	if filled.Annotations == nil {
		filled.Annotations = map[string]string{}
	}
	if wants.CA {
		filled.Data[corev1.ServiceAccountRootCAKey] = ca
	}
	if wants.Namespace {
		filled.Data[corev1.ServiceAccountNamespaceKey] = []byte(secret.Namespace)
	}
	if wants.Token {
		filled.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	filled.Annotations[corev1.ServiceAccountNameKey] = account.Name
	filled.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	return filled
}

// Belongs reports whether a secret holds or requests a token of the account.
func Belongs(secret *corev1.Secret, account *corev1.ServiceAccount) bool {
	if secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != account.Name {
		return false
	}
	uid := secret.Annotations[corev1.ServiceAccountUIDKey]
	return uid == "" || uid == string(account.UID)
}

// Without returns a copy of the account that does not list the secret; nil if the account
// does not list it.
func Without(account *corev1.ServiceAccount, secret string) *corev1.ServiceAccount {
	lists := func(ref corev1.ObjectReference) bool { return ref.Name == secret }
	if !slices.ContainsFunc(account.Secrets, lists) {
		return nil
	}
	account = account.DeepCopy()
	account.Secrets = slices.DeleteFunc(account.Secrets, lists)
	return account
}
