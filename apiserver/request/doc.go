// Package request says what a request is for. Parse runs once per request, before
// authorization, and everything else reads its result from the context, so that no two
// readers of a path can disagree.
package request
