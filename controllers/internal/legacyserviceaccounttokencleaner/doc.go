// Package legacyserviceaccounttokencleaner is the legacy-serviceaccount-token-cleaner-controller:
// once a day it looks for secrets with automatically generated tokens of service accounts that
// have not been used for a time (a year, or --legacy-service-account-token-clean-up-period)
// and that no pod mounts. Such a secret is first labelled kubernetes.io/legacy-token-invalid-since,
// which makes the API server refuse its token, and is deleted after the same time
// (https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#legacy-serviceaccount-token-cleaner).
// Nothing is cleaned before the API server has recorded the use of tokens for that time. As
// upstream, a token counts as automatically generated if its account lists its secret.
package legacyserviceaccounttokencleaner
