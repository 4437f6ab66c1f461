// Package tokencleaner is the token-cleaner-controller: it deletes bootstrap tokens when they
// expire, on the cluster's clock. As upstream, "*" does not select it, and a token whose
// expiration cannot be parsed counts as expired.
package tokencleaner
