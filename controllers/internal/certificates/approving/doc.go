// Package approving is the certificatesigningrequest-approving-controller: it approves the
// requests of kubelets for client certificates if the requester may create
// certificatesigningrequests/selfnodeclient (for itself) or /nodeclient.
package approving
