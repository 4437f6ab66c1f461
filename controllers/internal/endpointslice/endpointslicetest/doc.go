// Package endpointslicetest has what the tests of the endpointslice-controller and of its cost
// share.
package endpointslicetest
