// Package faultapi breaks a running cluster on request: its Extension serves
// /minikcm/v1/faults, where faults are injected, listed, followed and taken back, and its
// Client asks for that. A fault runs in the server and on the server's clock; all are
// taken back when the cluster closes.
package faultapi
