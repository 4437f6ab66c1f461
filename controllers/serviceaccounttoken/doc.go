// Package serviceaccounttoken is the serviceaccount-token-controller: a Secret of type
// kubernetes.io/service-account-token that names a service account holds a token of it,
// the cluster's root certificates and its namespace; it goes when the account goes, and
// the account forgets a secret that has gone. Without a key to sign tokens with, it
// says so and does nothing.
package serviceaccounttoken
