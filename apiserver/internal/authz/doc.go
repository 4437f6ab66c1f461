// Package authz configures authorization: webhooks that review access, and chains of
// authorizers that an AuthorizationConfiguration describes (Kubernetes documentation,
// "Configuring the API Server using an Authorization Config File").
package authz
