// Package listeners says what listens on the ports of a pod, from what the pod declares: the answers of
// minikcm.dev/http, minikcm.dev/grpc and minikcm.dev/server, then the ports of its containers. A pod that declares none, and of whose program nothing
// is known, is assumed to listen on whatever port is asked for (docs/decisions/0055-unknown-is-not-absent.md). Programs in
// containers, probes, hooks, proxies and forwarded ports ask it.
//
//minikcm:pure
package listeners
