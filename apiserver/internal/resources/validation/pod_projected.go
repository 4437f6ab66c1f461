package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateProjected(p *field.Path, projected *corev1.ProjectedVolumeSource) field.ErrorList {
	errs := validateMode(p.Child("defaultMode"), projected.DefaultMode)
	paths := map[string]bool{}
	for i := range projected.Sources {
		source, at := &projected.Sources[i], p.Child("sources").Index(i)
		sources := 0
		for _, form := range []struct {
			set   bool
			check func() field.ErrorList
		}{
			{source.Secret != nil, func() field.ErrorList {
				return projectedKeys(at.Child("secret"), source.Secret.Name, source.Secret.Items)
			}},
			{source.ConfigMap != nil, func() field.ErrorList {
				return projectedKeys(at.Child("configMap"), source.ConfigMap.Name, source.ConfigMap.Items)
			}},
			{source.DownwardAPI != nil, func() field.ErrorList {
				return validateDownwardFiles(at.Child("downwardAPI"), source.DownwardAPI.Items)
			}},
			{source.ServiceAccountToken != nil, func() field.ErrorList {
				return validateProjectedToken(p, at.Child("serviceAccountToken"), source.ServiceAccountToken)
			}},
			{source.ClusterTrustBundle != nil, func() field.ErrorList {
				return projectedTrust(at.Child("clusterTrustBundle"), source.ClusterTrustBundle)
			}},
			{source.PodCertificate != nil, func() field.ErrorList { return projectedCertificate(at.Child("podCertificate"), source.PodCertificate) }},
		} {
			if form.set {
				sources++
				errs = append(errs, form.check()...)
			}
		}
		if sources > 1 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type per source"))
		}
		for _, file := range projectedPaths(source) {
			if paths[file] {
				errs = append(errs, field.Invalid(p, file, "conflicting duplicate paths"))
			}
			paths[file] = true
		}
	}
	return errs
}

// projectedPaths returns the file paths that a source names explicitly.
func projectedPaths(source *corev1.VolumeProjection) []string {
	var paths []string
	add := func(path string) {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if s := source.Secret; s != nil {
		for i := range s.Items {
			add(s.Items[i].Path)
		}
	}
	if s := source.ConfigMap; s != nil {
		for i := range s.Items {
			add(s.Items[i].Path)
		}
	}
	if s := source.DownwardAPI; s != nil {
		for i := range s.Items {
			add(s.Items[i].Path)
		}
	}
	if s := source.ClusterTrustBundle; s != nil {
		paths = append(paths, s.Path)
	}
	if s := source.PodCertificate; s != nil {
		add(s.CredentialBundlePath)
		add(s.KeyPath)
		add(s.CertificateChainPath)
	}
	return paths
}

func projectedKeys(p *field.Path, name string, items []corev1.KeyToPath) field.ErrorList {
	errs := requiredNonEmpty(p.Child("name"), name)
	return append(errs, validateKeyPaths(p.Child("items"), items)...)
}

// validateProjectedToken reports a path at the volume's, as upstream.
func validateProjectedToken(volume, p *field.Path, token *corev1.ServiceAccountTokenProjection) field.ErrorList {
	var errs field.ErrorList
	if s := token.ExpirationSeconds; s != nil {
		switch {
		case *s < 10*60:
			errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes"))
		case *s > 1<<32:
			errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return append(errs, validateFilePath(volume.Child("path"), token.Path)...)
}

// projectedTrust validates the trust bundles of a volume: one by name, or a signer's bundles
// by their labels (KEP-3257).
func projectedTrust(p *field.Path, s *corev1.ClusterTrustBundleProjection) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.Name != nil && s.SignerName != nil:
		errs = append(errs, field.Invalid(p, s, "only one of name and signerName may be used"))
	case s.Name != nil:
		if *s.Name == "" {
			errs = append(errs, field.Required(p.Child("name"), "must be a valid object name"))
		}
		for _, message := range trustBundleNameProblems(*s.Name) {
			errs = append(errs, field.Invalid(p.Child("name"), *s.Name, "not a valid clustertrustbundlename: "+message))
		}
		if s.LabelSelector != nil {
			errs = append(errs, field.Invalid(p.Child("labelSelector"), s.LabelSelector, "labelSelector must be unset if name is specified"))
		}
	case s.SignerName != nil:
		if *s.SignerName == "" {
			errs = append(errs, field.Required(p.Child("signerName"), "must be a valid signer name"))
		}
		errs = append(errs, validateSignerName(p.Child("signerName"), *s.SignerName)...)
		errs = append(errs, validateSelector(p.Child("labelSelector"), s.LabelSelector)...)
	default:
		errs = append(errs, field.Required(p, "either name or signerName must be specified"))
	}
	return append(errs, validateFilePath(p.Child("path"), s.Path)...)
}

// trustBundleNameProblems checks a bundle's name, which starts with its signer's if it
// has one: "example.com:signer:name".
func trustBundleNameProblems(name string) []string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return validation.IsDNS1123Subdomain(name)
}

// projectedCertificate validates a certificate that the kubelet requests (KEP-4317).
func projectedCertificate(p *field.Path, s *corev1.PodCertificateProjection) field.ErrorList {
	errs := validateSignerName(p.Child("signerName"), s.SignerName)
	errs = append(errs, validateUserAnnotations(p.Child("userAnnotations"), s.UserAnnotations)...)
	errs = append(errs, oneOf(p.Child("keyType"), s.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")...)
	if seconds := s.MaxExpirationSeconds; seconds != nil {
		at, longest := p.Child("maxExpirationSeconds"), mostCertificateSeconds(s.SignerName)
		if *seconds < minPodCertificateSeconds {
			errs = append(errs, field.Invalid(at, *seconds, "if provided, maxExpirationSeconds must be >= 3600"))
		}
		if *seconds > longest {
			errs = append(errs, field.Invalid(at, *seconds, "if provided, maxExpirationSeconds must be <= "+decimal(longest)))
		}
	}
	files := 0
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", s.CredentialBundlePath}, {"keyPath", s.KeyPath}, {"certificateChainPath", s.CertificateChainPath},
	} {
		if file.path != "" {
			files++
			errs = append(errs, validateFilePath(p.Child(file.name), file.path)...)
		}
	}
	if files == 0 {
		errs = append(errs, field.Required(p, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	}
	return errs
}

func validateUserAnnotations(p *field.Path, annotations map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sortedKeys(annotations) {
		errs = append(errs, validation.IsDomainPrefixedKey(p, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, field.TooLong(p, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return errs
}
