// Package manifests reads webhook configurations and admission policies from the files of a
// folder, and follows the folder (KEP-5793, "Manifest Based Admission Control Config"). Their names
// end in .static.k8s.io, which the API refuses; they are not in the API, and also apply to the
// objects of admissionregistration.k8s.io.
package manifests
