// Package admissionpolicystatus is the validatingadmissionpolicy-status-controller: the
// expressions of a ValidatingAdmissionPolicy are checked against the schemas of the
// kinds that it names, once for each generation, and what does not fit is said in its
// status (Kubernetes documentation, "Validating Admission Policy: Type checking").
package admissionpolicystatus
