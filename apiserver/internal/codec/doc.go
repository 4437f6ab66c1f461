// Package codec encodes and decodes objects: JSON, YAML and protobuf for clients,
// protobuf with upstream's prefix for the store, and the negotiation between them by
// Accept and Content-Type. Typed objects inside the apiserver have no TypeMeta; the
// encoder writes the group, version and kind of the resource's row, so that an object
// is encoded without being modified and can be shared by any number of readers.
//
//minikcm:pure
package codec
