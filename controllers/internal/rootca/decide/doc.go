// Package decide decides whether a namespace needs the ConfigMap with the root certificates, and
// determines its content. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
