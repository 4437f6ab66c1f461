// Package website is what an operator of Websites consists of besides its command: a
// kind of its own, a finalizer, conditions, Deployments that it owns and applies, an
// indexed cache, and events. It knows nothing of minikcm.
package website
