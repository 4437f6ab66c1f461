// Package podcertificates keeps the credentials that a kubelet obtains for the podCertificate
// sources of a pod's volumes (KEP-4317): for each source a key, the PodCertificateRequest that is
// open for it, and the certificate chain that a signer has issued. A credential is requested when
// the pod comes to its node, and again at the time that the signer proposes; until the new
// certificate is issued, the old one is mounted. A request that is denied or failed is final.
// The package decides; the kubelet creates and reads the requests. Keys come from the machine's
// random source, not from the seed, so that runs with such volumes do not replay byte for byte.
package podcertificates
