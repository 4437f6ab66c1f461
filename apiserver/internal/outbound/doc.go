// Package outbound configures the API server's calls to webhooks: how much of an answer
// is read, and what of it reaches the client.
package outbound
