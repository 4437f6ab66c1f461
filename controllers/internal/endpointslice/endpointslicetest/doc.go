// Package endpointslicetest has the helpers that the tests of the endpointslice-controller and of
// its cost share.
package endpointslicetest
