// Package request has one request for a resource: its verb and object, its user, its row, and
// the form of the response. Parse reads method and path once, before authorization, and
// everything else reads its result from the context, so that no two readers of a path can
// disagree. Request decodes options and bodies, negotiates the format and writes objects,
// lists and Tables in it. Package verbs implements the verbs.
package request
