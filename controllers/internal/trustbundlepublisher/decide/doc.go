// Package decide compares the trust bundles of a signer with the certificates to publish. Every
// decision leaves exactly one bundle of the signer, with these certificates, once it is executed.
//
//minikcm:pure
package decide
