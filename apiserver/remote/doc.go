// Package remote connects a client with a process in a container, as kubelets do for
// exec and attach: over a WebSocket, in all subprotocols of channel.k8s.io up to v5, or
// over SPDY/3.1, up to v4. Whatever runs gets plain readers and writers; how it ended
// reaches the client as a Status. When Serve returns, the connection is closed.
package remote
