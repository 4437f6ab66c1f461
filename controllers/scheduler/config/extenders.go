package config

import (
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

func checkExtenders(path *field.Path, extenders []configv1.Extender) (errs field.ErrorList) {
	binders := 0
	managed := map[string]bool{}
	for i := range extenders {
		e, at := &extenders[i], path.Index(i)
		if u, err := url.Parse(e.URLPrefix); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, field.Invalid(at.Child("urlPrefix"), e.URLPrefix, "must be the URL of the extender, such as http://127.0.0.1:8888/scheduler"))
		}
		if e.PrioritizeVerb != "" && e.Weight <= 0 {
			errs = append(errs, field.Invalid(at.Child("weight"), e.Weight, "must have a positive weight applied to it"))
		}
		if e.HTTPTimeout.Duration < 0 {
			errs = append(errs, field.Invalid(at.Child("httpTimeout"), e.HTTPTimeout.Duration.String(), "must not be negative"))
		}
		if e.BindVerb != "" {
			binders++
		}
		for j, r := range e.ManagedResources {
			name := at.Child("managedResources").Index(j).Child("name")
			for _, why := range validation.IsQualifiedName(r.Name) {
				errs = append(errs, field.Invalid(name, r.Name, why))
			}
			if managed[r.Name] {
				errs = append(errs, field.Invalid(name, r.Name, "duplicate extender managed resource name"))
			}
			managed[r.Name] = true
		}
	}
	if binders > 1 {
		errs = append(errs, field.Invalid(path, fmt.Sprintf("found %d extenders implementing bind", binders), "only one extender can implement bind"))
	}
	return errs
}
