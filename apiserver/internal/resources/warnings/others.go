package warnings

import (
	"crypto/tls"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func Node(n *corev1.Node) []string {
	var all []string
	if n.Spec.ConfigSource != nil {
		all = append(all, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		all = append(all, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		all = append(all, validation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
	}
	return all
}

func ResourceQuota(q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var all []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage} {
		requestName, limitName := "requests."+name, "limits."+name
		request, requested := q.Spec.Hard[requestName]
		if !requested && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requestName = name
			request, requested = q.Spec.Hard[name]
		}
		if limit, limited := q.Spec.Hard[limitName]; requested && limited && request.Cmp(limit) > 0 {
			all = append(all, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requestName, request.String(), limitName, limit.String()))
		}
	}
	return all
}

// Secret warns of a key that does not fit its certificate, with the text of the
// library that loads them.
func Secret(s *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

const mountableSecretsAnnotation = "kubernetes.io/enforce-mountable-secrets"

func ServiceAccount(s, old *corev1.ServiceAccount) []string {
	if old != nil {
		if _, was := old.Annotations[mountableSecretsAnnotation]; was {
			return nil
		}
	}
	if _, set := s.Annotations[mountableSecretsAnnotation]; !set {
		return nil
	}
	return []string{"metadata.annotations[" + mountableSecretsAnnotation + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
}

func RuntimeClass(r *nodev1.RuntimeClass) []string {
	if r.Scheduling == nil {
		return nil
	}
	return warnNodeLabels(r.Scheduling.NodeSelector, func(string) *field.Path { return field.NewPath("scheduling", "nodeSelector") })
}

func ResourceSlice(s *resourcev1.ResourceSlice) []string {
	if s.Spec.Driver == strings.ToLower(s.Spec.Driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver)}
}
