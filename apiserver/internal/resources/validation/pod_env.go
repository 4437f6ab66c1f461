package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	oneSource  = "may not have more than one field specified at a time"
	emptyValue = ""
)

// The fields that the downward API provides to environment variables and to files.
var (
	envFieldPaths = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	fileFieldPaths = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	resourcePaths  = []string{
		"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
	}
)

func (c *podCheck) checkEnv(p *field.Path, env []corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	for i := range env {
		at := p.Index(i)
		errs = append(errs, requiredOr(at.Child("name"), env[i].Name, validation.IsRelaxedEnvVarName)...)
		if source := env[i].ValueFrom; source != nil {
			errs = append(errs, c.checkEnvSource(at.Child("valueFrom"), source, env[i].Value)...)
		}
	}
	return errs
}

func (c *podCheck) checkEnvSource(p *field.Path, source *corev1.EnvVarSource, value string) field.ErrorList {
	var errs field.ErrorList
	sources := 0
	if ref := source.FieldRef; ref != nil {
		sources++
		errs = append(errs, validateFieldRef(p.Child("fieldRef"), ref, envFieldPaths)...)
	}
	if ref := source.ResourceFieldRef; ref != nil {
		sources++
		errs = append(errs, validateResourceFieldRef(p.Child("resourceFieldRef"), ref, false)...)
	}
	if ref := source.ConfigMapKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(p.Child("configMapKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := source.SecretKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(p.Child("secretKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := source.FileKeyRef; ref != nil {
		sources++
		errs = append(errs, c.validateFileKeyRef(p.Child("fileKeyRef"), ref)...)
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(p, emptyValue, "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case value != "":
		errs = append(errs, field.Invalid(p, emptyValue, "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(p, emptyValue, oneSource))
	}
	return errs
}

func (c *podCheck) validateFileKeyRef(p *field.Path, ref *corev1.FileKeySelector) field.ErrorList {
	errs := requiredOr(p.Child("key"), ref.Key, validation.IsRelaxedEnvVarName)
	if ref.Path == "" {
		errs = append(errs, field.Required(p.Child("path"), ""))
	} else {
		errs = append(errs, validateLocalPath(p.Child("path"), ref.Path)...)
	}
	volume := c.volumes[ref.VolumeName]
	switch {
	case ref.VolumeName == "":
		errs = append(errs, field.Required(p.Child("volumeName"), ""))
	case volume == nil:
		errs = append(errs, field.NotFound(p.Child("volumeName"), ref.VolumeName))
	case volume.EmptyDir == nil:
		errs = append(errs, field.Invalid(p.Child("volumeName"), ref.VolumeName, "referenced volume must be of type emptyDir"))
	}
	return errs
}

func validateKeyRef(p *field.Path, name, key string) field.ErrorList {
	errs := invalidFor(p.Child("name"), name, isDNSSubdomain(name))
	return append(errs, requiredOr(p.Child("key"), key, validation.IsConfigMapKey)...)
}

func checkEnvFrom(p *field.Path, sources []corev1.EnvFromSource) field.ErrorList {
	var errs field.ErrorList
	for i := range sources {
		from, at := &sources[i], p.Index(i)
		errs = append(errs, optional(at.Child("prefix"), from.Prefix, validation.IsRelaxedEnvVarName)...)
		if ref := from.ConfigMapRef; ref != nil {
			errs = append(errs, requiredOr(at.Child("configMapRef", "name"), ref.Name, isDNSSubdomain)...)
		}
		if ref := from.SecretRef; ref != nil {
			errs = append(errs, requiredOr(at.Child("secretRef", "name"), ref.Name, isDNSSubdomain)...)
		}
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			errs = append(errs, field.Invalid(p, emptyValue, "must specify one of: `configMapRef` or `secretRef`"))
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			errs = append(errs, field.Invalid(p, emptyValue, oneSource))
		}
	}
	return errs
}

// validateFieldRef validates a reference to a field of the pod. A single label or
// annotation is selected by its key: metadata.labels['app'].
func validateFieldRef(p *field.Path, ref *corev1.ObjectFieldSelector, paths []string) field.ErrorList {
	switch {
	case ref.APIVersion == "":
		return field.ErrorList{field.Required(p.Child("apiVersion"), "")}
	case ref.FieldPath == "":
		return field.ErrorList{field.Required(p.Child("fieldPath"), "")}
	}
	at := p.Child("fieldPath")
	if ref.APIVersion != "v1" {
		return field.ErrorList{field.Invalid(at, ref.FieldPath, "error converting fieldPath: unsupported conversion of version "+ref.APIVersion)}
	}
	if path, key, ok := subscript(ref.FieldPath); ok {
		switch path {
		case "metadata.annotations":
			return invalidFor(at, key, isQualifiedName(strings.ToLower(key)))
		case "metadata.labels":
			return invalidFor(at, key, isQualifiedName(key))
		}
		return field.ErrorList{field.Invalid(at, path, "does not support subscript")}
	}
	switch {
	case slices.Contains(paths, ref.FieldPath):
		return nil
	case !slices.Contains(envFieldPaths, ref.FieldPath) && !slices.Contains(fileFieldPaths, ref.FieldPath):
		return field.ErrorList{field.Invalid(at, ref.FieldPath, "error converting fieldPath: field label not supported: "+ref.FieldPath)}
	}
	return field.ErrorList{field.NotSupported(at, ref.FieldPath, paths)}
}

// subscript splits path['key'].
func subscript(path string) (base, key string, ok bool) {
	base, rest, found := strings.Cut(path, "['")
	if !found || !strings.HasSuffix(rest, "']") {
		return path, "", false
	}
	return base, strings.TrimSuffix(rest, "']"), true
}

func validateResourceFieldRef(p *field.Path, ref *corev1.ResourceFieldSelector, file bool) field.ErrorList {
	switch {
	case file && ref.ContainerName == "":
		return field.ErrorList{field.Required(p.Child("containerName"), "")}
	case ref.Resource == "":
		return field.ErrorList{field.Required(p.Child("resource"), "")}
	case !slices.Contains(resourcePaths, ref.Resource) &&
		!strings.HasPrefix(ref.Resource, "limits."+corev1.ResourceHugePagesPrefix) &&
		!strings.HasPrefix(ref.Resource, "requests."+corev1.ResourceHugePagesPrefix):
		return field.ErrorList{field.NotSupported(p.Child("resource"), ref.Resource, resourcePaths)}
	}
	return nil
}
