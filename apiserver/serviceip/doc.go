// Package serviceip gives Services their cluster IPs and node ports. No two
// Services of a cluster hold the same address or node port at once: what a write
// asks for is held from before it is stored until it is known whether it was, and
// what a Service no longer has is free as soon as the store knows it.
package serviceip
