// Package remote connects a client with a process in a container, as kubelets do for
// exec and attach: over a WebSocket, with all subprotocols of channel.k8s.io up to v5,
// or over SPDY/3.1, up to v4. The process gets plain readers and writers; its outcome
// is sent to the client as a Status. The connection is closed when Serve returns.
package remote
