// Package accessrecord records users' requests to an authorizer. While a recording without
// enforcement runs, its user may do everything, so that a client shows all that it needs. A
// server without recordings pays one atomic load for each decision.
package accessrecord
