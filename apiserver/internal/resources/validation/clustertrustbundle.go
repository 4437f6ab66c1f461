package validation

import (
	"bytes"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ClusterTrustBundleName checks the last part of a name such as "example.com:signer:v1".
func ClusterTrustBundleName(name string, _ bool) []string {
	return isDNSSubdomain(name[strings.LastIndexByte(name, ':')+1:])
}

func ClusterTrustBundle(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	prefix := strings.ReplaceAll(b.Spec.SignerName, "/", ":") + ":"
	switch {
	case b.Spec.SignerName != "":
		errs = append(errs, validateSignerName(p.Child("signerName"), b.Spec.SignerName)...)
		if b.Name != "" && !strings.HasPrefix(b.Name, prefix) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), b.Name, "ClusterTrustBundle for signerName "+b.Spec.SignerName+" must be named with prefix "+prefix))
		}
	case strings.Contains(b.Name, ":"):
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), b.Name, "ClusterTrustBundle without signer name must not have \":\" in its name"))
	}
	if len(bytes.TrimSpace([]byte(b.Spec.TrustBundle))) == 0 {
		return append(errs, field.Invalid(p.Child("trustBundle"), "<value omitted>", "at least one trust anchor must be provided"))
	}
	return append(errs, validateChain(p.Child("trustBundle"), []byte(b.Spec.TrustBundle))...)
}

func ClusterTrustBundleUpdate(b, old *certificatesv1.ClusterTrustBundle) field.ErrorList {
	return immutable(field.NewPath("spec", "signerName"), b.Spec.SignerName, old.Spec.SignerName)
}
