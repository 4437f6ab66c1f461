// Package auth says who makes a request and whether they may: client certificates of
// the cluster's own authority, the tokens of its service accounts, identities given to
// in-process clients, whom a request acts as, and the Authorizer that is asked about
// each. It knows what upstream calls users, groups and extra fields, and refuses in
// upstream's words.
package auth
