// Package decide decides which attachments the simulated attacher serves, and how fast or with
// which error. It does not change its arguments.
//
//minikcm:pure
package decide
