// Package serviceaccount is the serviceaccount-controller: every active namespace
// has the service account "default", and has it again soon after somebody deletes it.
package serviceaccount
