// Package decide calculates the Endpoints object of a Service from its pods, and says whether the
// object has to be written. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
