// Package responses holds what simulated containers answer to HTTP requests and gRPC health
// checks, as the annotations minikcm.dev/http and minikcm.dev/grpc declare it, and what
// kubelet probes make of those answers. Its functions are pure.
//
//minikcm:pure
package responses
