package config

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/extender"
	"minikcm.dev/minikcm/internal/resourcename"
)

// extenders compiles the extenders. As in kube-scheduler, the ignorable ones come last. ignored are
// the resources that NodeResourcesFit leaves to extenders.
func extenders(path *field.Path, all []configv1.Extender) (compiled []*extender.Extender, ignored []string, errs field.ErrorList) {
	errs = checkExtenders(path, all)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	var last []*extender.Extender
	for i := range all {
		e, err := extender.New(&all[i])
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("tlsConfig"), all[i].URLPrefix, err.Error()))
			continue
		}
		if e.Ignorable() {
			last = append(last, e)
		} else {
			compiled = append(compiled, e)
		}
		for _, r := range all[i].ManagedResources {
			if r.IgnoredByScheduler {
				ignored = append(ignored, r.Name)
			}
		}
	}
	return append(compiled, last...), ignored, errs
}

func checkExtenders(path *field.Path, all []configv1.Extender) (errs field.ErrorList) {
	binder := ""
	managed := map[string]bool{}
	for i := range all {
		e, at := &all[i], path.Index(i)
		if u, err := url.Parse(e.URLPrefix); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, field.Invalid(at.Child("urlPrefix"), e.URLPrefix, "must be an absolute URL of http or https"))
		}
		if e.PrioritizeVerb != "" && e.Weight <= 0 {
			errs = append(errs, field.Invalid(at.Child("weight"), e.Weight, "must have a positive weight applied to it"))
		}
		if e.HTTPTimeout.Duration < 0 {
			errs = append(errs, field.Invalid(at.Child("httpTimeout"), e.HTTPTimeout.Duration.String(), "must not be negative"))
		}
		if e.BindVerb != "" {
			if binder != "" {
				errs = append(errs, field.Invalid(at.Child("bindVerb"), e.BindVerb, "only one extender can implement bind, and "+binder+" does"))
			}
			binder = at.String()
		}
		for j, r := range e.ManagedResources {
			name := at.Child("managedResources").Index(j).Child("name")
			errs = append(errs, metav1validation.ValidateLabelName(r.Name, name)...)
			if !resourcename.IsExtended(corev1.ResourceName(r.Name)) {
				errs = append(errs, field.Invalid(name, r.Name, "is an invalid extended resource name"))
			}
			if managed[r.Name] {
				errs = append(errs, field.Duplicate(name, r.Name))
			}
			managed[r.Name] = true
		}
	}
	return errs
}
