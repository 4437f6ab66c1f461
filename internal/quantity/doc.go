// Package quantity reads quantities of Kubernetes from annotations and other text of clients,
// within limits: resource.ParseQuantity computes with all the digits that 1e-99999999 stands for.
//
//minikcm:pure
package quantity
