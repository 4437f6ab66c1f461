// Package decide compares the trust bundles of a signer with the certificates to publish. After its
// decision is executed, the signer has exactly one bundle, and that has these certificates.
//
//minikcm:pure
package decide
