// Package accessrecord records what users ask an authorizer for. While a recording without
// enforcement runs, its user may do everything, so that a client shows all that it needs.
// A server without recordings pays one atomic load for each decision.
package accessrecord
