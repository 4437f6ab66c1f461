// Package resourcename classifies the names of compute resources, for the validation of pods and
// for quotas.
//
//minikcm:pure
package resourcename
