package validation

import (
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateWindowsOptions validates the Windows options of a container.
func validateWindowsOptions(p *field.Path, o *corev1.WindowsSecurityContextOptions) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if name := o.GMSACredentialSpecName; name != nil {
		errs = append(errs, invalidFor(p.Child("gmsaCredentialSpecName"), *name, isDNSSubdomain(*name))...)
	}
	const longestSpec = 64 << 10
	if spec := o.GMSACredentialSpec; spec != nil {
		switch at := p.Child("gmsaCredentialSpec"); {
		case *spec == "":
			errs = append(errs, field.Invalid(at, *spec, "gmsaCredentialSpec cannot be an empty string"))
		case len(*spec) > longestSpec:
			errs = append(errs, field.Invalid(at, *spec, "gmsaCredentialSpec size must be under 64 KiB"))
		}
	}
	if user := o.RunAsUserName; user != nil {
		errs = append(errs, invalidFor(p.Child("runAsUserName"), *user, windowsUserProblems(*user))...)
	}
	return errs
}

// windowsUserProblems returns what is wrong with "user" or "domain\user".
func windowsUserProblems(name string) []string {
	const longestDomain, longestUser = 255, 104
	domain, user, hasDomain := strings.Cut(name, `\`)
	if !hasDomain {
		domain, user = "", name
	}
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case strings.ContainsFunc(name, unicode.IsControl):
		return []string{"runAsUserName cannot contain control characters"}
	case strings.Contains(user, `\`):
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	var problems []string
	if len(domain) > longestDomain {
		problems = append(problems, "runAsUserName's Domain length must be under 256 characters")
	}
	if hasDomain && !isNetBIOSName(domain) && len(validation.IsDNS1123Subdomain(strings.ToLower(domain))) > 0 {
		problems = append(problems, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	switch {
	case user == "":
		problems = append(problems, "runAsUserName's User cannot be empty")
	case len(user) > longestUser:
		problems = append(problems, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", longestUser))
	}
	if user != "" && strings.Trim(user, ". ") == "" {
		problems = append(problems, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`) {
		problems = append(problems, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
	return problems
}

func isNetBIOSName(name string) bool {
	const longest = 15
	return name != "" && len(name) <= longest && name[0] != '.' && !strings.ContainsAny(name, `\/:*?"<>|`)
}

// validateHostProcess requires that either all or none of a pod's containers are host
// processes of their Windows node (KEP-1981).
func validateHostProcess(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var ofPod *bool
	if sc := spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		ofPod = sc.WindowsOptions.HostProcess
	}
	var errs field.ErrorList
	containers, processes := 0, 0
	eachContainer(p, spec, func(p *field.Path, sc *corev1.SecurityContext) {
		containers++
		own := ofPod
		if sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = sc.WindowsOptions.HostProcess
			if ofPod != nil && *ofPod != *own {
				errs = append(errs, field.Invalid(p.Child("securityContext", "windowsOptions", "hostProcess"), *own,
					fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *ofPod)))
			}
		}
		if deref(own) {
			processes++
		}
	})
	if processes == 0 {
		return errs
	}
	if processes != containers {
		errs = append(errs, field.Invalid(p, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !spec.HostNetwork {
		errs = append(errs, field.Invalid(p.Child("hostNetwork"), spec.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers"))
	}
	return errs
}
