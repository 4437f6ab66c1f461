package apiservices

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	mostGroupPriority   = 20000
	mostVersionPriority = 1000
)

func validate(obj runtime.Object) field.ErrorList {
	s, ok := obj.(*apiregistrationv1.APIService)
	if !ok {
		return nil
	}
	errs := validateName(s)
	p, spec := field.NewPath("spec"), &s.Spec
	if spec.Group == "" && spec.Version != "v1" {
		errs = append(errs, field.Required(p.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	if spec.Group != "" {
		for _, message := range validation.IsDNS1123Subdomain(spec.Group) {
			errs = append(errs, field.Invalid(p.Child("group"), spec.Group, message))
		}
	}
	for _, message := range validation.IsDNS1035Label(spec.Version) {
		errs = append(errs, field.Invalid(p.Child("version"), spec.Version, message))
	}
	if n := spec.GroupPriorityMinimum; n <= 0 || n > mostGroupPriority {
		errs = append(errs, field.Invalid(p.Child("groupPriorityMinimum"), n, "must be positive and less than 20000"))
	}
	if n := spec.VersionPriority; n <= 0 || n > mostVersionPriority {
		errs = append(errs, field.Invalid(p.Child("versionPriority"), n, "must be positive and less than 1000"))
	}
	return append(errs, validateService(p, spec)...)
}

// validateName requires the one name that the spec allows, so that each group and
// version has at most one APIService.
func validateName(s *apiregistrationv1.APIService) field.ErrorList {
	var errs field.ErrorList
	wanted := s.Spec.Version + "." + s.Spec.Group
	if s.GenerateName != "" && s.GenerateName != wanted {
		errs = append(errs, wrongName("generateName", s.GenerateName, wanted))
	}
	if s.Name == "" {
		return errs // it is missing, which is another error
	}
	at := field.NewPath("metadata", "name")
	for _, message := range path.IsValidPathSegmentName(s.Name) {
		errs = append(errs, field.Invalid(at, s.Name, message))
	}
	if len(path.IsValidPathSegmentName(s.Name)) == 0 && s.Name != wanted {
		errs = append(errs, wrongName("name", s.Name, wanted))
	}
	return errs
}

func wrongName(key, name, wanted string) *field.Error {
	return field.Invalid(field.NewPath("metadata", key), name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", wanted))
}

func validateService(p *field.Path, spec *apiregistrationv1.APIServiceSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.Service == nil {
		if n := len(spec.CABundle); n > 0 {
			errs = append(errs, field.Invalid(p.Child("caBundle"), fmt.Sprintf("%d bytes", n), "local APIServices may not have a caBundle"))
		}
		if spec.InsecureSkipTLSVerify {
			errs = append(errs, field.Invalid(p.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify"))
		}
		return errs
	}
	at, port := p.Child("service"), int32(0)
	if spec.Service.Port != nil {
		port = *spec.Service.Port
	}
	if spec.Service.Namespace == "" {
		errs = append(errs, field.Required(at.Child("namespace"), ""))
	}
	if spec.Service.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	if messages := validation.IsValidPortNum(int(port)); len(messages) > 0 {
		errs = append(errs, field.Invalid(at.Child("port"), port, "port is not valid: "+strings.Join(messages, ", ")))
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(p.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"))
	}
	return errs
}

func validateStatus(obj, _ runtime.Object) field.ErrorList {
	s, ok := obj.(*apiregistrationv1.APIService)
	if !ok {
		return nil
	}
	var errs field.ErrorList
	p := field.NewPath("status", "conditions")
	for i, condition := range s.Status.Conditions {
		switch condition.Status {
		case apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown:
		default:
			errs = append(errs, field.NotSupported(p.Index(i).Child("status"), condition.Status, []apiregistrationv1.ConditionStatus{
				apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown,
			}))
		}
	}
	return errs
}
