// Package exchange sends HTTP requests to two API servers and compares their answers. A request
// may refer to earlier answers, of which each server has its own: a UID, a resourceVersion, a
// whole object to change. What differs between any two servers (times, UIDs, addresses,
// generated names) is replaced by what is comparable about it before the answers are compared:
// a resourceVersion, for example, by the number of versions of its object that were seen before.
package exchange
