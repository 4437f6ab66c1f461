// Package decide calculates the status of a ResourceQuota from the counted usage. It depends on
// its arguments alone and does not change them.
//
//minikcm:pure
package decide
