package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateOS requires that a pod with an operating system has no fields of another one
// (KEP-2802).
func validateOS(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if spec.OS == nil {
		return nil
	}
	switch spec.OS.Name {
	case "":
		return field.ErrorList{field.Required(p.Child("os", "name"), "")}
	case corev1.Linux:
		return forbidden(fieldsOfWindows(p, spec), "windows options cannot be set for a linux pod")
	case corev1.Windows:
		return forbidden(fieldsOfLinux(p, spec), "cannot be set for a windows pod")
	}
	return oneOf(p.Child("os"), spec.OS.Name, corev1.Linux, corev1.Windows)
}

// osField is a field that is specific to one operating system.
type osField struct {
	path *field.Path
	set  bool
}

func forbidden(fields []osField, message string) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if f.set {
			errs = append(errs, field.Forbidden(f.path, message))
		}
	}
	return errs
}

func fieldsOfWindows(p *field.Path, spec *corev1.PodSpec) []osField {
	var fields []osField
	if sc := spec.SecurityContext; sc != nil {
		fields = append(fields, osField{p.Child("securityContext", "windowsOptions"), sc.WindowsOptions != nil})
	}
	eachSecurityContext(p, spec, func(p *field.Path, sc *corev1.SecurityContext) {
		fields = append(fields, osField{p.Child("windowsOptions"), sc.WindowsOptions != nil})
	})
	return fields
}

func fieldsOfLinux(p *field.Path, spec *corev1.PodSpec) []osField {
	var fields []osField
	if sc, at := spec.SecurityContext, p.Child("securityContext"); sc != nil {
		fields = []osField{
			{at.Child("appArmorProfile"), sc.AppArmorProfile != nil},
			{at.Child("seLinuxOptions"), sc.SELinuxOptions != nil},
			{p.Child("hostUsers"), spec.HostUsers != nil},
			{p.Child("hostPID"), spec.HostPID},
			{p.Child("hostIPC"), spec.HostIPC},
			{at.Child("seccompProfile"), sc.SeccompProfile != nil},
			{at.Child("fsGroup"), sc.FSGroup != nil},
			{at.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy != nil},
			{at.Child("sysctls"), len(sc.Sysctls) > 0},
			{p.Child("shareProcessNamespace"), spec.ShareProcessNamespace != nil},
			{at.Child("runAsUser"), sc.RunAsUser != nil},
			{at.Child("runAsGroup"), sc.RunAsGroup != nil},
			{at.Child("supplementalGroups"), sc.SupplementalGroups != nil},
			{at.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy != nil},
			{at.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy != nil},
		}
	}
	eachSecurityContext(p, spec, func(p *field.Path, sc *corev1.SecurityContext) {
		fields = append(fields, []osField{
			{p.Child("appArmorProfile"), sc.AppArmorProfile != nil},
			{p.Child("seLinuxOptions"), sc.SELinuxOptions != nil},
			{p.Child("seccompProfile"), sc.SeccompProfile != nil},
			{p.Child("capabilities"), sc.Capabilities != nil},
			{p.Child("readOnlyRootFilesystem"), sc.ReadOnlyRootFilesystem != nil},
			{p.Child("privileged"), sc.Privileged != nil},
			{p.Child("allowPrivilegeEscalation"), sc.AllowPrivilegeEscalation != nil},
			{p.Child("procMount"), sc.ProcMount != nil},
			{p.Child("runAsUser"), sc.RunAsUser != nil},
			{p.Child("runAsGroup"), sc.RunAsGroup != nil},
		}...)
	})
	return fields
}

// eachSecurityContext visits the security contexts of containers of all sorts.
func eachSecurityContext(p *field.Path, spec *corev1.PodSpec, visit func(p *field.Path, sc *corev1.SecurityContext)) {
	eachContainer(p, spec, func(p *field.Path, sc *corev1.SecurityContext) {
		if sc != nil {
			visit(p.Child("securityContext"), sc)
		}
	})
}

func eachContainer(p *field.Path, spec *corev1.PodSpec, visit func(p *field.Path, sc *corev1.SecurityContext)) {
	for i := range spec.InitContainers {
		visit(p.Child("initContainers").Index(i), spec.InitContainers[i].SecurityContext)
	}
	for i := range spec.Containers {
		visit(p.Child("containers").Index(i), spec.Containers[i].SecurityContext)
	}
	for i := range spec.EphemeralContainers {
		visit(p.Child("ephemeralContainers").Index(i), spec.EphemeralContainers[i].SecurityContext)
	}
}
