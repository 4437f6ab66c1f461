// Package serviceaccount is the serviceaccount-controller: it creates the service account
// "default" in every active namespace, and creates it again after a deletion.
package serviceaccount
