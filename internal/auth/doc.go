// Package auth authenticates and authorizes requests: client certificates of the
// cluster's own authority, tokens of its service accounts, identities of in-process
// clients, impersonation, and the Authorizer interface. Users, groups and extra fields
// are upstream's, and so are the texts of errors.
package auth
