// Package secure is TLS in the simulated network: a port that serves it has the certificate of its program, real clients speak
// it with crypto/tls, and simulated ones verify the certificate on the cluster's clock, without a handshake.
package secure
