// Package ui serves the live page of a cluster on a loopback port of its own. A one-time link opens
// a session, whose requests go to the cluster's API server with its administrator's credentials.
// Requests of other hosts' names, of other origins and without a session are refused. The Extension
// attaches the page to a cluster and serves new links at /minikcm/v1/ui; the page outlives the
// cluster, for one that replaces it.
package ui
