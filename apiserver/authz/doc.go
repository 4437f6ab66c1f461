// Package authz asks a webhook whether users may make requests.
package authz
