// Package request has one request for a resource: what it asks for, of which user, about
// which row, and the form of the answer. Parse reads method and path once, before
// authorization, and everything else reads its result from the context, so that no two
// readers of a path can disagree. Request decodes options and bodies, negotiates the format
// and writes objects, lists and Tables in it. What a verb does is not here.
package request
