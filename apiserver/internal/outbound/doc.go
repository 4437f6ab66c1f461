// Package outbound configures the API server's calls to webhooks: how much of a response is
// read, and which part of it reaches the client.
package outbound
