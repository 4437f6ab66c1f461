// Package website is an operator of Websites without its command: a custom kind, a finalizer,
// conditions, Deployments that it owns and applies, an indexed cache, and events. It contains
// nothing specific to minikcm.
package website
