package validation

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxFileMode int32 = 0o777

func (c *podCheck) checkVolumes(p *field.Path, volumes []corev1.Volume) field.ErrorList {
	if len(volumes) == 0 {
		return nil
	}
	var errs field.ErrorList
	var names nameList
	c.volumes = make(map[string]*corev1.Volume, len(volumes))
	for i := range volumes {
		v, at := &volumes[i], p.Index(i)
		nameErrs := requiredOr(at.Child("name"), v.Name, isDNSLabel)
		if len(nameErrs) == 0 {
			nameErrs = names.add(at.Child("name"), v.Name)
		}
		sourceErrs := append(c.volumeSource(at, v), c.longName(at.Child("name"), v)...)
		if len(nameErrs)+len(sourceErrs) == 0 {
			c.volumes[v.Name] = v
		}
		errs = append(errs, sourceErrs...)
		errs = append(errs, nameErrs...)
	}
	return errs
}

// volumeSource requires exactly one source.
func (c *podCheck) volumeSource(p *field.Path, v *corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	sources := 0
	source := reflect.ValueOf(&v.VolumeSource).Elem()
	for i := range source.NumField() {
		if source.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		if sources++; sources > 1 {
			errs = append(errs, field.Forbidden(p.Child(name), "may not specify more than 1 volume type"))
		}
	}
	if sources == 0 {
		return field.ErrorList{field.Required(p, "must specify a volume type")}
	}
	if sources > 1 {
		return errs
	}
	return append(errs, c.knownSource(p, v)...)
}

func (c *podCheck) knownSource(p *field.Path, v *corev1.Volume) field.ErrorList {
	switch {
	case v.EmptyDir != nil:
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			return field.ErrorList{field.Forbidden(p.Child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity")}
		}
	case v.HostPath != nil:
		return validateHostPath(p.Child("hostPath"), v.HostPath)
	case v.ConfigMap != nil:
		at := p.Child("configMap")
		errs := requiredNonEmpty(at.Child("name"), v.ConfigMap.Name)
		errs = append(errs, validateMode(at.Child("defaultMode"), v.ConfigMap.DefaultMode)...)
		return append(errs, validateKeyPaths(at.Child("items"), v.ConfigMap.Items)...)
	case v.Secret != nil:
		at := p.Child("secret")
		errs := requiredNonEmpty(at.Child("secretName"), v.Secret.SecretName)
		errs = append(errs, validateMode(at.Child("defaultMode"), v.Secret.DefaultMode)...)
		return append(errs, validateKeyPaths(at.Child("items"), v.Secret.Items)...)
	case v.Projected != nil:
		return validateProjected(p.Child("projected"), v.Projected)
	case v.DownwardAPI != nil:
		errs := validateMode(p.Child("downwardAPI", "defaultMode"), v.DownwardAPI.DefaultMode)
		return append(errs, validateDownwardFiles(p.Child("downwardAPI"), v.DownwardAPI.Items)...)
	case v.PersistentVolumeClaim != nil:
		return requiredNonEmpty(p.Child("persistentVolumeClaim", "claimName"), v.PersistentVolumeClaim.ClaimName)
	case v.CSI != nil:
		return validatePodCSI(p.Child("csi"), v.CSI)
	case v.ISCSI != nil:
		return validatePodISCSI(p.Child("iscsi"), v.ISCSI)
	case v.Image != nil:
		return validateImageVolume(p.Child("image"), v.Image)
	case v.NFS != nil:
		at := p.Child("nfs")
		errs := requiredNonEmpty(at.Child("server"), v.NFS.Server)
		errs = append(errs, requiredNonEmpty(at.Child("path"), v.NFS.Path)...)
		if !path.IsAbs(v.NFS.Path) {
			errs = append(errs, field.Invalid(at.Child("path"), v.NFS.Path, "must be an absolute path"))
		}
		return errs
	case v.Ephemeral != nil:
		if v.Ephemeral.VolumeClaimTemplate == nil {
			return field.ErrorList{field.Required(p.Child("ephemeral", "volumeClaimTemplate"), "")}
		}
		return validateClaimTemplate(p.Child("ephemeral", "volumeClaimTemplate"), v.Ephemeral.VolumeClaimTemplate)
	default:
		return validateDriverSource(p, &v.VolumeSource)
	}
	return nil
}

func requiredNonEmpty(p *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return nil
}

func validateHostPath(p *field.Path, h *corev1.HostPathVolumeSource) field.ErrorList {
	if h.Path == "" {
		return field.ErrorList{field.Required(p.Child("path"), "")}
	}
	errs := withoutBacksteps(p.Child("path"), h.Path)
	if h.Type != nil {
		errs = append(errs, oneOf(p.Child("type"), *h.Type,
			corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
			corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
	}
	return errs
}

func validateMode(p *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > maxFileMode) {
		return field.ErrorList{field.Invalid(p, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

func validateKeyPaths(p *field.Path, items []corev1.KeyToPath) field.ErrorList {
	var errs field.ErrorList
	for i := range items {
		at := p.Index(i)
		errs = append(errs, requiredNonEmpty(at.Child("key"), items[i].Key)...)
		errs = append(errs, validateFilePath(at.Child("path"), items[i].Path)...)
		errs = append(errs, validateMode(at.Child("mode"), items[i].Mode)...)
	}
	return errs
}

// validateFilePath validates the path of a file in a volume: not outside the volume, and
// not one of the kubelet's own names.
func validateFilePath(p *field.Path, file string) field.ErrorList {
	if file == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := validateLocalPath(p, file)
	if strings.HasPrefix(file, "..") && len(errs) == 0 {
		errs = append(errs, field.Invalid(p, file, "must not start with '..'"))
	}
	return errs
}

func validateLocalPath(p *field.Path, target string) field.ErrorList {
	if path.IsAbs(target) {
		return append(field.ErrorList{field.Invalid(p, target, "must be a relative path")}, withoutBacksteps(p, target)...)
	}
	return withoutBacksteps(p, target)
}

func withoutBacksteps(p *field.Path, target string) field.ErrorList {
	for step := range strings.SplitSeq(target, "/") {
		if step == ".." {
			return field.ErrorList{field.Invalid(p, target, "must not contain '..'")}
		}
	}
	return nil
}

func validateDownwardFiles(p *field.Path, items []corev1.DownwardAPIVolumeFile) field.ErrorList {
	var errs field.ErrorList
	for i := range items {
		item := &items[i]
		errs = append(errs, validateFilePath(p.Child("path"), item.Path)...)
		switch {
		case item.FieldRef != nil && item.ResourceFieldRef != nil:
			errs = append(errs, field.Invalid(p, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		case item.FieldRef != nil:
			errs = append(errs, validateFieldRef(p.Child("fieldRef"), item.FieldRef, fileFieldPaths)...)
		case item.ResourceFieldRef != nil:
			errs = append(errs, validateResourceFieldRef(p.Child("resourceFieldRef"), item.ResourceFieldRef, true)...)
		default:
			errs = append(errs, field.Required(p, "one of fieldRef and resourceFieldRef is required"))
		}
		errs = append(errs, validateMode(p.Child("mode"), item.Mode)...)
	}
	return errs
}

func (c *podCheck) volumeMounts(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	places := map[string]bool{}
	for i := range ctr.VolumeMounts {
		mount, at := &ctr.VolumeMounts[i], p.Index(i)
		if mount.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if c.volumes[mount.Name] == nil {
			errs = append(errs, field.NotFound(at.Child("name"), mount.Name))
		}
		if mount.MountPath == "" {
			errs = append(errs, field.Required(at.Child("mountPath"), ""))
		}
		if places[mount.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), mount.MountPath, "must be unique"))
		}
		places[mount.MountPath] = true
		errs = append(errs, validateSubPath(at, mount)...)
		errs = append(errs, validatePropagation(p, mount, ctr)...)
		errs = append(errs, validateRecursive(p.Child("recursiveReadOnly"), mount)...)
	}
	return errs
}

func validateSubPath(p *field.Path, mount *corev1.VolumeMount) field.ErrorList {
	var errs field.ErrorList
	if mount.SubPath != "" {
		errs = append(errs, validateLocalPath(p.Child("subPath"), mount.SubPath)...)
	}
	if mount.SubPathExpr != "" {
		if mount.SubPath != "" {
			errs = append(errs, field.Invalid(p.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
		}
		errs = append(errs, validateLocalPath(p.Child("subPathExpr"), mount.SubPathExpr)...)
	}
	return errs
}

func validatePropagation(p *field.Path, mount *corev1.VolumeMount, ctr *corev1.Container) field.ErrorList {
	if mount.MountPropagation == nil {
		return nil
	}
	privileged := ctr.SecurityContext != nil && ctr.SecurityContext.Privileged != nil && *ctr.SecurityContext.Privileged
	if *mount.MountPropagation == corev1.MountPropagationBidirectional && !privileged {
		return field.ErrorList{field.Forbidden(p.Child("mountPropagation"), "Bidirectional mount propagation is available only to privileged containers")}
	}
	return oneOf(p.Child("mountPropagation"), *mount.MountPropagation,
		corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
}

func (c *podCheck) volumeDevices(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	names, places := map[string]bool{}, map[string]bool{}
	for i := range ctr.VolumeDevices {
		device, at := &ctr.VolumeDevices[i], p.Index(i)
		volume := c.volumes[device.Name]
		errs = append(errs, requiredNonEmpty(at.Child("name"), device.Name)...)
		if device.Name != "" && names[device.Name] {
			errs = append(errs, field.Invalid(at.Child("name"), device.Name, "must be unique"))
		}
		names[device.Name] = true
		switch {
		case volume == nil:
			errs = append(errs, field.NotFound(at.Child("name"), device.Name))
		case volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil:
			errs = append(errs, field.Invalid(at.Child("name"), device.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		if device.DevicePath == "" {
			errs = append(errs, field.Required(at.Child("devicePath"), ""))
			continue
		}
		if places[device.DevicePath] {
			errs = append(errs, field.Invalid(at.Child("devicePath"), device.DevicePath, "must be unique"))
		}
		places[device.DevicePath] = true
		errs = append(errs, withoutBacksteps(at.Child("devicePath"), device.DevicePath)...)
	}
	return errs
}

func validatePodCSI(p *field.Path, s *corev1.CSIVolumeSource) field.ErrorList {
	errs := validateDriverName(p.Child("driver"), s.Driver)
	if ref := s.NodePublishSecretRef; ref != nil {
		if ref.Name == "" {
			return append(errs, field.Required(p.Child("nodePublishSecretRef", "name"), ""))
		}
		errs = append(errs, invalidFor(p.Child("name"), ref.Name, isDNSSubdomain(ref.Name))...)
	}
	return errs
}

func validateImageVolume(p *field.Path, s *corev1.ImageVolumeSource) field.ErrorList {
	errs := requiredNonEmpty(p.Child("reference"), s.Reference)
	return append(errs, requiredOneOf(p.Child("pullPolicy"), s.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
}

func validateClaimTemplate(p *field.Path, t *corev1.PersistentVolumeClaimTemplate) field.ErrorList {
	errs := metav1validation.ValidateLabels(t.Labels, p.Child("metadata", "labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(t.Annotations, p.Child("metadata", "annotations"))...)
	return append(errs, validateClaimSpec(p.Child("spec"), &t.Spec)...)
}

// longName checks the names that include a volume's name: the name of an ephemeral claim,
// and of an iSCSI session.
func (c *podCheck) longName(p *field.Path, v *corev1.Volume) field.ErrorList {
	const longestSession = 64
	if v.ISCSI != nil && v.ISCSI.InitiatorName != nil && len(v.Name+":"+v.ISCSI.TargetPortal) > longestSession {
		return field.ErrorList{field.Invalid(p, v.Name, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.")}
	}
	if v.Ephemeral == nil || c.pod == "" || v.Name == "" {
		return nil
	}
	claim := c.pod + "-" + v.Name
	var errs field.ErrorList
	for _, message := range isDNSSubdomain(claim) {
		errs = append(errs, field.Invalid(p, v.Name, fmt.Sprintf("PVC name %q: %v", claim, message)))
	}
	return errs
}

// validateRecursive allows recursive read-only only for mounts that are read-only and not
// propagated (KEP-3857).
func validateRecursive(p *field.Path, mount *corev1.VolumeMount) field.ErrorList {
	mode := mount.RecursiveReadOnly
	if mode == nil || *mode == corev1.RecursiveReadOnlyDisabled {
		return nil
	}
	if *mode != corev1.RecursiveReadOnlyEnabled && *mode != corev1.RecursiveReadOnlyIfPossible {
		return oneOf(p, *mode, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	}
	var errs field.ErrorList
	if !mount.ReadOnly {
		errs = append(errs, field.Forbidden(p, "may only be specified when readOnly is true"))
	}
	if m := mount.MountPropagation; m != nil && *m != corev1.MountPropagationNone {
		errs = append(errs, field.Forbidden(p, "may only be specified when mountPropagation is None or not specified"))
	}
	return errs
}
