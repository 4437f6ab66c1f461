// Package authn authenticates users in the ways that an API server can be configured to
// accept in addition to the certificates of its own authority and the tokens of its service
// accounts: other authorities, a front proxy, a file of tokens, bootstrap tokens, issuers of
// JSON web tokens, and a webhook.
package authn
