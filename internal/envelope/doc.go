// Package envelope writes and reads the envelope of the Kubernetes API's protobuf documents: a magic number and a
// runtime.Unknown, which names the kind and contains the message. It copies no message.
//
//minikcm:pure
package envelope
