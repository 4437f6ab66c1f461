// Package streaming serves the subresources that upstream's apiserver passes on to a
// kubelet, a pod or a Service: exec, attach, port-forward, logs and proxy. Kubelets is the
// interface to the containers. No connection is counted in flight while it lasts,
// except the look-up of its target: virtual time must pass meanwhile. A connection ends
// when the server stops.
package streaming
