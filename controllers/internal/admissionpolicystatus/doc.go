// Package admissionpolicystatus is the validatingadmissionpolicy-status-controller: it
// checks the expressions of a ValidatingAdmissionPolicy against the schemas of the kinds
// that it names, once for each generation, and reports mismatches in its status (Kubernetes
// documentation, "Validating Admission Policy: Type checking").
package admissionpolicystatus
