// Package decide decides which EndpointSlices mirror an Endpoints object: which to create, update
// or delete, with as few writes as possible. It depends on its arguments alone and does not
// change them.
//
//minikcm:pure
package decide
