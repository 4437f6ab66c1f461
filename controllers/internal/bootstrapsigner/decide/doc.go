// Package decide decides with which bootstrap tokens the information about a cluster is
// signed. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
