package validation

import (
	"fmt"
	"slices"
	"strings"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StorageVersionName requires names of the form <group>.<resource>.
func StorageVersionName(name string, _ bool) []string {
	dot := strings.LastIndex(name, ".")
	if dot < 0 {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	return append(prefixed("the group segment ", isDNSSubdomain(name[:dot])), prefixed("the resource segment ", validation.IsDNS1035Label(name[dot+1:]))...)
}

func prefixed(prefix string, messages []string) []string {
	all := make([]string, len(messages))
	for i, message := range messages {
		all[i] = prefix + message
	}
	return all
}

// StorageVersionStatus validates the entries of the API servers, and the fields that are common to all of them.
func StorageVersionStatus(v, _ *apiserverinternalv1alpha1.StorageVersion) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("status")
	var servers nameList
	for i := range v.Status.StorageVersions {
		at := p.Child("storageVersions").Index(i)
		errs = append(errs, servers.add(at.Child("apiServerID"), v.Status.StorageVersions[i].APIServerID)...)
		errs = append(errs, validateServerStorageVersion(at, &v.Status.StorageVersions[i])...)
	}
	errs = append(errs, validateCommonVersion(p.Child("commonEncodingVersion"), &v.Status)...)
	return append(errs, validateStorageVersionConditions(p, v.Status.Conditions)...)
}

func validateServerStorageVersion(p *field.Path, v *apiserverinternalv1alpha1.ServerStorageVersion) field.ErrorList {
	errs := invalidFor(p.Child("apiServerID"), v.APIServerID, apivalidation.NameIsDNSSubdomain(v.APIServerID, false))
	errs = append(errs, joined(p.Child("encodingVersion"), v.EncodingVersion, apiVersionProblems(v.EncodingVersion))...)
	for i, version := range v.DecodableVersions {
		errs = append(errs, joined(p.Child("decodableVersions").Index(i), version, apiVersionProblems(version))...)
	}
	if !slices.Contains(v.DecodableVersions, v.EncodingVersion) {
		errs = append(errs, field.Invalid(p.Child("decodableVersions"), v.DecodableVersions,
			"decodableVersions must include encodingVersion "+v.EncodingVersion))
	}
	for i, version := range v.ServedVersions {
		at := p.Child("servedVersions").Index(i)
		errs = append(errs, joined(at, version, apiVersionProblems(version))...)
		if !slices.Contains(v.DecodableVersions, version) {
			errs = append(errs, field.Invalid(at, version,
				fmt.Sprintf("individual served version : %s must be included in decodableVersions : %s", version, v.DecodableVersions)))
		}
	}
	return errs
}

// validateCommonVersion requires that the common version is the one that all servers encode, and unset without one.
func validateCommonVersion(p *field.Path, s *apiserverinternalv1alpha1.StorageVersionStatus) field.ErrorList {
	common, agreed := "", len(s.StorageVersions) > 0
	for i := range s.StorageVersions {
		if version := s.StorageVersions[i].EncodingVersion; i == 0 {
			common = version
		} else if version != common {
			agreed = false
		}
	}
	stated := s.CommonEncodingVersion
	switch {
	case !agreed && stated != nil:
		return field.ErrorList{field.Invalid(p, *stated,
			"should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet")}
	case agreed && stated == nil:
		return field.ErrorList{field.Invalid(p, stated, "the common encoding version is "+common)}
	case agreed && *stated != common:
		return field.ErrorList{field.Invalid(p, *stated, "the actual common encoding version is "+common)}
	}
	return nil
}

// validateStorageVersionConditions reports problems at the status, as upstream, which leaves out the field's name.
func validateStorageVersionConditions(p *field.Path, conditions []apiserverinternalv1alpha1.StorageVersionCondition) field.ErrorList {
	var errs field.ErrorList
	last := map[apiserverinternalv1alpha1.StorageVersionConditionType]int{}
	for i, c := range conditions {
		at := p.Index(i)
		if before, twice := last[c.Type]; twice {
			errs = append(errs, field.Invalid(at.Child("type"), string(c.Type),
				fmt.Sprintf("the type of the condition is not unique, it also appears in conditions[%d]", before)))
		}
		last[c.Type] = i
		errs = append(errs, invalidFor(at.Child("type"), string(c.Type), isQualifiedName(string(c.Type)))...)
		errs = append(errs, invalidFor(at.Child("status"), string(c.Status), isQualifiedName(string(c.Status)))...)
		if c.Reason == "" {
			errs = append(errs, field.Required(at.Child("reason"), ""))
		}
		if c.Message == "" {
			errs = append(errs, field.Required(at.Child("message"), ""))
		}
	}
	return errs
}

// apiVersionProblems returns what is wrong with an apiVersion: a version, after a group and a slash unless it is
// of the core group.
func apiVersionProblems(apiVersion string) []string {
	group, version, grouped := strings.Cut(apiVersion, "/")
	switch {
	case !grouped:
		version = group
	case strings.Contains(version, "/"):
		return []string{"an apiVersion is " + validation.RegexError(
			"a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
			"[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123") + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"}
	}
	var problems []string
	switch {
	case grouped && group == "":
		problems = append(problems, "group part: "+validation.EmptyError())
	case grouped:
		problems = append(problems, prefixed("group part: ", isDNSSubdomain(group))...)
	}
	if version == "" {
		return append(problems, "version part: "+validation.EmptyError())
	}
	return append(problems, prefixed("version part: ", validation.IsDNS1035Label(version))...)
}
