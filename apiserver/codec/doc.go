// Package codec turns objects into bytes and back: JSON, YAML and protobuf for
// clients, protobuf behind upstream's magic for the store, and the choice between
// them by Accept and Content-Type. Typed objects inside the apiserver carry no
// TypeMeta; their group, version and kind come from the resource's row and are
// written around them, so that an object is encoded without being touched and can
// be shared by any number of readers.
package codec
