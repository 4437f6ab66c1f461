// Package reachapi answers, at /minikcm/v1/reach, whether a connection in the cluster arrives, and why, and has the client for it.
package reachapi
