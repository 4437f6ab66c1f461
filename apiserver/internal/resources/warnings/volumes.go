package warnings

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// goneVolumes are the removed kinds of volumes, with their warning.
var goneVolumes = map[string]string{
	"cephfs":               "deprecated in v1.28, non-functional in v1.31+",
	"flocker":              "deprecated in v1.22, non-functional in v1.25+",
	"gitRepo":              "deprecated in v1.11, and disabled by default in v1.33+",
	"glusterfs":            "deprecated in v1.25, non-functional in v1.26+",
	"photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
	"quobyte":              "deprecated in v1.22, non-functional in v1.25+",
	"rbd":                  "deprecated in v1.28, non-functional in v1.31+",
	"scaleIO":              "deprecated in v1.16, non-functional in v1.22+",
	"storageOS":            "deprecated in v1.22, non-functional in v1.25+",
}

// usedVolume is a kind of volume, and whether it is used.
type usedVolume struct {
	kind string
	used bool
}

// warnGone warns of removed kinds that are used.
func warnGone(p *field.Path, volumes ...usedVolume) []string {
	var all []string
	for _, v := range volumes {
		if v.used {
			all = append(all, fmt.Sprintf("%s: %s", p.Child(v.kind), goneVolumes[v.kind]))
		}
	}
	return all
}

// warnVolumes warns of volumes of removed kinds, and of overlapping files in one
// volume.
func warnVolumes(p *field.Path, volumes []corev1.Volume) []string {
	var all []string
	for i := range volumes {
		v, at := &volumes[i], p.Index(i)
		all = append(all, warnGone(at,
			usedVolume{"photonPersistentDisk", v.PhotonPersistentDisk != nil}, usedVolume{"gitRepo", v.GitRepo != nil},
			usedVolume{"scaleIO", v.ScaleIO != nil}, usedVolume{"flocker", v.Flocker != nil}, usedVolume{"storageOS", v.StorageOS != nil},
			usedVolume{"quobyte", v.Quobyte != nil}, usedVolume{"glusterfs", v.Glusterfs != nil},
		)...)
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			all = append(all, warnClaimSpec(at.Child("ephemeral", "volumeClaimTemplate", "spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)...)
		}
		all = append(all, warnGone(at, usedVolume{"cephfs", v.CephFS != nil}, usedVolume{"rbd", v.RBD != nil})...)
	}
	for i := range volumes {
		all = append(all, warnOverlaps(&volumes[i])...)
	}
	return all
}

func warnClaimSpec(p *field.Path, spec *corev1.PersistentVolumeClaimSpec) []string {
	all := warnFraction(p.Child("resources", "requests"), spec.Resources.Requests, corev1.ResourceStorage)
	return append(all, warnFraction(p.Child("resources", "limits"), spec.Resources.Limits, corev1.ResourceStorage)...)
}

// placedFile is a file in a volume and, for a projected volume, its source.
type placedFile struct{ path, source string }

func (f placedFile) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

// overlaps reports whether one of the files is the other, or in a directory of its
// name.
func (f placedFile) overlaps(other placedFile) bool {
	if f.path == "" || other.path == "" {
		return false
	}
	return strings.HasPrefix(f.path+"/", other.path+"/") || strings.HasPrefix(other.path+"/", f.path+"/")
}

// warnOverlaps warns of overlapping files in one volume.
func warnOverlaps(v *corev1.Volume) []string {
	switch {
	case v.ConfigMap != nil:
		return overlapsIn(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), nil, keyFiles(v.ConfigMap.Items, ""))
	case v.Secret != nil:
		return overlapsIn(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), nil, keyFiles(v.Secret.Items, ""))
	case v.DownwardAPI != nil:
		return overlapsIn(v.Name, "DownwardAPI", nil, downwardFiles(v.DownwardAPI.Items, ""))
	case v.Projected != nil:
		var all []string
		var files []placedFile
		for i := range v.Projected.Sources {
			if v.Projected.Sources[i] == (corev1.VolumeProjection{}) {
				all = append(all, fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name))
				continue
			}
			more := projectedFiles(&v.Projected.Sources[i])
			all = append(all, overlapsIn(v.Name, "Projected", files, more)...)
			files = append(files, more...)
		}
		return all
	}
	return nil
}

// overlapsIn returns warnings about files that overlap with those before them, in files
// or in before.
func overlapsIn(volume, description string, before, files []placedFile) []string {
	var all []string
	for i := range files {
		files[i].path = strings.TrimRight(files[i].path, "/")
		for _, earlier := range slices.Concat(before, files[:i]) {
			if files[i].overlaps(earlier) {
				all = append(all, fmt.Sprintf("volume %q (%s): overlapping paths: %s with %s", volume, description, files[i], earlier))
			}
		}
	}
	return all
}

func keyFiles(items []corev1.KeyToPath, source string) []placedFile {
	files := make([]placedFile, len(items))
	for i := range items {
		files[i] = placedFile{items[i].Path, source}
	}
	return files
}

func downwardFiles(items []corev1.DownwardAPIVolumeFile, source string) []placedFile {
	files := make([]placedFile, len(items))
	for i := range items {
		files[i] = placedFile{items[i].Path, source}
	}
	return files
}

func projectedFiles(source *corev1.VolumeProjection) []placedFile {
	switch {
	case source.ConfigMap != nil:
		return keyFiles(source.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", source.ConfigMap.Name))
	case source.Secret != nil:
		return keyFiles(source.Secret.Items, fmt.Sprintf("Secret %q", source.Secret.Name))
	case source.DownwardAPI != nil:
		return downwardFiles(source.DownwardAPI.Items, "DownwardAPI")
	case source.ServiceAccountToken != nil:
		return []placedFile{{source.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case source.ClusterTrustBundle != nil:
		name := ptr.Deref(source.ClusterTrustBundle.Name, "")
		if source.ClusterTrustBundle.Name == nil {
			name = ptr.Deref(source.ClusterTrustBundle.SignerName, "")
		}
		return []placedFile{{source.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", name)}}
	case source.PodCertificate != nil:
		return []placedFile{
			{source.PodCertificate.CertificateChainPath, "PodCertificate chain"},
			{source.PodCertificate.KeyPath, "PodCertificate key"},
			{source.PodCertificate.CredentialBundlePath, "PodCertificate credential bundle"},
		}
	}
	return nil
}
