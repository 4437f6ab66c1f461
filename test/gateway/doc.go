// Package gateway runs the conformance suite of the Gateway API (sigs.k8s.io/gateway-api/conformance) against a minikcm process, with the
// definitions of the suite's own version. The suite's requests go to the addresses that "minikcm up --publish" opens on this machine, and
// its servers are simulated pods, whose image is described in general terms in images.
package gateway
