package validation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateDeclaredFeatures requires valid names of features in ascending order
// (KEP-5328).
func validateDeclaredFeatures(p *field.Path, features []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range features {
		if problem := featureNameProblem(name); problem != "" {
			errs = append(errs, field.Invalid(p.Index(i), name, problem))
		}
		if i == 0 {
			continue
		}
		switch strings.Compare(features[i-1], name) {
		case 0:
			errs = append(errs, field.Duplicate(p.Index(i), name))
		case 1:
			errs = append(errs, field.Invalid(p.Index(i), name, "list must be sorted alphabetically"))
		}
	}
	return errs
}

// featureNameProblem returns what is wrong with a name such as "Feature/subFeature".
func featureNameProblem(name string) string {
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, validation.DNS1123SubdomainMaxLength)
	}
	if matches, err := regexp.MatchString(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`, name); err != nil || !matches {
		return fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name)
	}
	return ""
}

// validateNodeConfig validates the configurations that a kubelet reports.
func validateNodeConfig(p *field.Path, c *corev1.NodeConfigStatus) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	for _, of := range []struct {
		name   string
		source *corev1.NodeConfigSource
	}{{"assigned", c.Assigned}, {"active", c.Active}, {"lastKnownGood", c.LastKnownGood}} {
		switch {
		case of.source == nil:
		case of.source.ConfigMap == nil:
			errs = append(errs, field.Invalid(p.Child(of.name), of.source, "exactly one reference subfield must be non-nil"))
		default:
			errs = append(errs, validateConfigReference(p.Child(of.name, "configMap"), of.source.ConfigMap)...)
		}
	}
	return errs
}

func validateConfigReference(p *field.Path, c *corev1.ConfigMapNodeConfigSource) field.ErrorList {
	errs := needs(p, "uid", string(c.UID), "resourceVersion", c.ResourceVersion)
	errs = append(errs, requiredOr(p.Child("namespace"), c.Namespace, isDNSLabel)...)
	errs = append(errs, requiredOr(p.Child("name"), c.Name, isDNSSubdomain)...)
	return append(errs, requiredOr(p.Child("kubeletConfigKey"), c.KubeletConfigKey, validation.IsConfigMapKey)...)
}
