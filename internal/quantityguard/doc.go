// Package quantityguard finds quantities that would take hours to parse in the objects of clients:
// the decoders of k8s.io/apimachinery compute with all the digits that 1e-99999999 stands for.
// [Suspect] finds documents that may have such a quantity, fast. [InJSON] and [InProtobuf] look
// for it where the Go type of the API has a quantity, because other text may look like one.
//
//minikcm:pure
package quantityguard
