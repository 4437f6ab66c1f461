// Package quantity reads quantities of Kubernetes from annotations and other text of clients.
package quantity
