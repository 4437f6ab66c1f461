// Package openrequests has the parts that the HTTP services of a cluster share. A Group counts
// the requests that a service is serving: closing it cancels their contexts, returns when they
// have ended, and refuses later ones. News wakes the requests that follow changes, and
// streams what has changed; ReadBody reads a body within a limit, Follow and Parameters refuse query
// parameters that mean nothing, and Answer, WriteLine and NotAllowed respond.
package openrequests
