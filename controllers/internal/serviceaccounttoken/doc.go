// Package serviceaccounttoken is the serviceaccount-token-controller: it fills Secrets of
// type kubernetes.io/service-account-token that name a service account with a token of the
// account, the cluster's root certificates and the namespace. It deletes them with the
// account, and removes deleted ones from the account's list. Without a key to sign tokens,
// it logs that and does nothing.
package serviceaccounttoken
