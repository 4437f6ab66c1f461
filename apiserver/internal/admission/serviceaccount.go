package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

const (
	defaultServiceAccount = "default"
	// tokenVolumePrefix is the prefix of the name of the volume with a pod's
	// credentials.
	tokenVolumePrefix = "kube-api-access-"
	tokenMountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the lifetime of a token: an hour, and seven seconds by which
	// upstream recognizes the tokens that this plugin requests.
	tokenSeconds = 3607
	rootCAName   = "kube-root-ca.crt"
)

// ServiceAccount sets every Pod's service account, which must exist, with its image
// pull secrets and, unless pod or account opt out, a volume with its credentials
// (Kubernetes documentation, "Managing Service Accounts: ServiceAccount admission
// controller").
type ServiceAccount struct {
	Get func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	// Suffix returns the end of the volume's name.
	Suffix func(pod *corev1.Pod) string
}

// Mutate implements Mutator.
func (p ServiceAccount) Mutate(ctx context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil {
		return nil
	}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return checkMirror(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = defaultServiceAccount
	}
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	account, err := p.Get(ctx, a.Namespace, pod.Spec.ServiceAccountName)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("serviceaccount"), pod.Spec.ServiceAccountName)
		return apierrors.NewForbidden(a.Resource.GroupResource(), pod.Name, fmt.Errorf("error looking up service account %s/%s: %w", a.Namespace, pod.Spec.ServiceAccountName, err))
	}
	if err != nil {
		return err
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	if wantsToken(pod, account) {
		p.mountToken(pod)
	}
	return nil
}

// checkMirror rejects a mirror pod that refers to objects that it may not use.
func checkMirror(a *Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName == "" {
		return nil
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), pod.Name, fmt.Errorf("a mirror pod may not reference service accounts"))
}

func wantsToken(pod *corev1.Pod, account *corev1.ServiceAccount) bool {
	if pod.Spec.AutomountServiceAccountToken != nil {
		return *pod.Spec.AutomountServiceAccountToken
	}
	return ptr.Deref(account.AutomountServiceAccountToken, true)
}

// mountToken mounts the credentials in every container that mounts nothing at that
// path.
func (p ServiceAccount) mountToken(pod *corev1.Pod) {
	name := ""
	for i := range pod.Spec.Volumes {
		if strings.HasPrefix(pod.Spec.Volumes[i].Name, tokenVolumePrefix) {
			name = pod.Spec.Volumes[i].Name
		}
	}
	exists := name != ""
	if !exists {
		name = tokenVolumePrefix + p.Suffix(pod)
	}
	mounted := false
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenMountPath }) {
				continue
			}
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath})
			mounted = true
		}
	}
	if mounted && !exists {
		pod.Spec.Volumes = append(pod.Spec.Volumes, tokenVolume(name))
	}
}

func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](tokenSeconds), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCAName},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}
