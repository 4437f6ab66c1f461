// Package decide decides whether a namespace needs the ConfigMap with the root certificates, and
// what is in it. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
