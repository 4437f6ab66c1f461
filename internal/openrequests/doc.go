// Package openrequests counts the requests that a service is serving. Closing its Group
// cancels the contexts of these requests, returns when they have ended, and refuses later
// ones. Its News wakes the requests that follow changes.
package openrequests
