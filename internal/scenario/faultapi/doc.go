// Package faultapi injects faults into a running cluster on request. Its Extension serves
// /minikcm/v1/faults, where faults are injected, listed, followed and taken back; its Client
// makes these requests. A fault runs in the server and by the server's clock. Closing the
// cluster takes back all faults.
package faultapi
