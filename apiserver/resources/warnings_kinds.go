package resources

import (
	"crypto/tls"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// wantsTemplateTold says whether a workload's template is to be looked at: it is new, or
// what is wanted has changed. A nil old is a new one.
func wantsTemplateTold(m, old metav1.Object, isNew bool) bool {
	return isNew || m.GetGeneration() != old.GetGeneration()
}

func deploymentWarnings(d, old *appsv1.Deployment) []string {
	var all []string
	if old == nil {
		all = warnPodName(d)
	}
	if wantsTemplateTold(d, old, old == nil) {
		all = append(all, warnTemplate(field.NewPath("spec", "template"), &d.Spec.Template)...)
	}
	return all
}

func replicaSetWarnings(r, old *appsv1.ReplicaSet) []string {
	var all []string
	if old == nil {
		all = warnPodName(r)
	}
	if wantsTemplateTold(r, old, old == nil) {
		all = append(all, warnTemplate(field.NewPath("spec", "template"), &r.Spec.Template)...)
	}
	return all
}

func replicationControllerWarnings(r, old *corev1.ReplicationController) []string {
	var all []string
	if old == nil {
		all = warnPodName(r)
	}
	if r.Spec.Template != nil && wantsTemplateTold(r, old, old == nil) {
		all = append(all, warnTemplate(field.NewPath("spec", "template"), r.Spec.Template)...)
	}
	return all
}

func daemonSetWarnings(d, old *appsv1.DaemonSet) []string {
	if old != nil && templateGeneration(d) == templateGeneration(old) {
		return nil
	}
	return warnTemplate(field.NewPath("spec", "template"), &d.Spec.Template)
}

func statefulSetWarnings(s, old *appsv1.StatefulSet) []string {
	var all []string
	if wantsTemplateTold(s, old, old == nil) {
		all = warnTemplate(field.NewPath("spec", "template"), &s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		at := field.NewPath("spec", "volumeClaimTemplates").Index(i)
		if old != nil {
			at = at.Child("Spec") // as upstream has it
		}
		all = append(all, warnClaimSpec(at, &s.Spec.VolumeClaimTemplates[i].Spec)...)
	}
	if limit := s.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
		all = append(all, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return all
}

func podTemplateWarnings(t, old *corev1.PodTemplate) []string {
	if !wantsTemplateTold(t, old, old == nil) {
		return nil
	}
	return warnTemplate(field.NewPath("template"), &t.Template)
}

func jobWarnings(job, old *batchv1.Job) []string {
	var all []string
	if old == nil {
		all = warnPodName(job)
	}
	if wantsTemplateTold(job, old, old == nil) {
		all = append(all, warnJobSpec(field.NewPath("spec"), &job.Spec)...)
	}
	return all
}

func cronJobWarnings(c, old *batchv1.CronJob) []string {
	var all []string
	if old == nil {
		all = warnPodName(c)
	}
	if wantsTemplateTold(c, old, old == nil) {
		all = append(all, warnJobSpec(field.NewPath("spec", "jobTemplate", "spec"), &c.Spec.JobTemplate.Spec)...)
	}
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		all = append(all, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return all
}

func warnJobSpec(p *field.Path, spec *batchv1.JobSpec) []string {
	var all []string
	if deref(spec.CompletionMode) == batchv1.IndexedCompletion && deref(spec.Completions) > manyCompletions && deref(spec.Parallelism) > parallelismOfMany {
		all = append(all, fmt.Sprintf("%s: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail", p))
	}
	return append(all, warnTemplate(p.Child("template"), &spec.Template)...)
}

func serviceWarnings(s *corev1.Service) []string {
	spec, p := &s.Spec, field.NewPath("spec")
	var all []string
	if _, set := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; set {
		all = append(all, fmt.Sprintf("annotation %s is deprecated, please use %s instead", corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if len(spec.ClusterIPs) > 0 && spec.ClusterIP != corev1.ClusterIPNone && spec.Type != corev1.ServiceTypeExternalName {
		all = append(all, warnAddresses(p.Child("clusterIPs"), spec.ClusterIPs)...)
	}
	headless, external := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone, spec.Type == corev1.ServiceTypeExternalName
	if headless {
		all = append(all, headlessWarnings(spec)...)
	}
	all = append(all, warnAddresses(p.Child("externalIPs"), spec.ExternalIPs)...)
	if len(spec.ExternalIPs) > 0 && !headless && !external {
		all = append(all, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if spec.LoadBalancerIP != "" {
		all = append(all, validation.GetWarningsForIP(p.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	for i, cidr := range spec.LoadBalancerSourceRanges {
		all = append(all, validation.GetWarningsForCIDR(p.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	if external && len(spec.ExternalIPs) > 0 {
		all = append(all, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	}
	if !external && spec.ExternalName != "" {
		all = append(all, `spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if deref(spec.TrafficDistribution) == corev1.ServiceTrafficDistributionPreferClose {
		all = append(all, fmt.Sprintf("spec.trafficDistribution: %q is deprecated; use %q", corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone))
	}
	return all
}

// headlessWarnings tells of what has no effect without an address.
func headlessWarnings(spec *corev1.ServiceSpec) []string {
	var all []string
	if spec.LoadBalancerIP != "" {
		all = append(all, "spec.loadBalancerIP is ignored for headless services")
	}
	if len(spec.ExternalIPs) > 0 {
		all = append(all, "spec.externalIPs is ignored for headless services")
	}
	if spec.SessionAffinity != corev1.ServiceAffinityNone {
		all = append(all, "spec.SessionAffinity is ignored for headless services")
	}
	return all
}

func warnAddresses(p *field.Path, addresses []string) []string {
	var all []string
	for i, address := range addresses {
		all = append(all, validation.GetWarningsForIP(p.Index(i), address)...)
	}
	return all
}

// byController are the values of the label that tells who manages endpoints of which
// nobody need be told.
var byController = map[string]bool{"endpointslice-controller.k8s.io": true, "endpointslicemirroring-controller.k8s.io": true, "endpoint-controller": true}

func endpointSliceWarnings(s, old *discoveryv1.EndpointSlice) []string {
	var all []string
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		all = append(all, "spec.addressType: FQDN endpoints are deprecated")
	}
	if byController[s.Labels[discoveryv1.LabelManagedBy]] || s.AddressType == discoveryv1.AddressTypeFQDN {
		return all
	}
	for i := range s.Endpoints {
		all = append(all, warnAddresses(field.NewPath("endpoints").Index(i).Child("addresses"), s.Endpoints[i].Addresses)...)
	}
	return all
}

func endpointsWarnings(e *corev1.Endpoints) []string { //nolint:staticcheck // deprecated, and served
	if byController[e.Labels["endpoints.kubernetes.io/managed-by"]] {
		return nil
	}
	var all []string
	for i := range e.Subsets {
		at := field.NewPath("subsets").Index(i)
		for j := range e.Subsets[i].Addresses {
			all = append(all, validation.GetWarningsForIP(at.Child("addresses").Index(j).Child("ip"), e.Subsets[i].Addresses[j].IP)...)
		}
		for j := range e.Subsets[i].NotReadyAddresses {
			all = append(all, validation.GetWarningsForIP(at.Child("notReadyAddresses").Index(j).Child("ip"), e.Subsets[i].NotReadyAddresses[j].IP)...)
		}
	}
	return all
}

func networkPolicyWarnings(n *networkingv1.NetworkPolicy) []string {
	var all []string
	warnPeers := func(p *field.Path, peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			block, at := peers[i].IPBlock, p.Index(i).Child("ipBlock")
			if block == nil {
				continue
			}
			all = append(all, validation.GetWarningsForCIDR(at.Child("cidr"), block.CIDR)...)
			for j, except := range block.Except {
				all = append(all, validation.GetWarningsForCIDR(at.Child("except").Index(j), except)...)
			}
		}
	}
	for i := range n.Spec.Ingress {
		warnPeers(field.NewPath("spec", "ingress").Index(i).Child("from"), n.Spec.Ingress[i].From)
	}
	for i := range n.Spec.Egress {
		warnPeers(field.NewPath("spec", "egress").Index(i).Child("to"), n.Spec.Egress[i].To)
	}
	return all
}

func nodeWarnings(n *corev1.Node) []string {
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

func resourceQuotaWarnings(q, old *corev1.ResourceQuota) []string {
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

func persistentVolumeWarnings(pv *corev1.PersistentVolume) []string {
	spec, p := &pv.Spec, field.NewPath("spec")
	var all []string
	for _, deprecated := range []struct{ key, text string }{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, set := pv.Annotations[deprecated.key]; set {
			all = append(all, fmt.Sprintf("%s: %s", field.NewPath("metadata", "annotations").Key(deprecated.key), deprecated.text))
		}
	}
	if spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		all = append(all, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		for i := range spec.NodeAffinity.Required.NodeSelectorTerms {
			all = append(all, warnNodeTerm(p.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i), &spec.NodeAffinity.Required.NodeSelectorTerms[i], false)...)
		}
	}
	for _, kind := range []struct {
		used       bool
		name, text string
	}{
		{spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if kind.used {
			all = append(all, fmt.Sprintf("%s: %s", p.Child(kind.name), kind.text))
		}
	}
	return all
}

func claimWarnings(c *corev1.PersistentVolumeClaim) []string {
	var all []string
	if _, set := c.Annotations[corev1.BetaStorageClassAnnotation]; set {
		all = append(all, fmt.Sprintf(`%s: deprecated since v1.8; use "storageClassName" attribute instead`, field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(all, warnClaimSpec(field.NewPath("spec"), &c.Spec)...)
}

// secretWarnings tells of a key that is not its certificate's, in the words of the
// library that servers load them by.
func secretWarnings(s *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

const mountableSecretsAnnotation = "kubernetes.io/enforce-mountable-secrets"

func serviceAccountWarnings(s, old *corev1.ServiceAccount) []string {
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

func csiDriverWarnings(d, old *storagev1.CSIDriver) []string {
	unchanged := old != nil && apiequality.Semantic.DeepEqual(old.Spec.TokenRequests, d.Spec.TokenRequests)
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil || unchanged {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
}

func storageClassWarnings(s *storagev1.StorageClass) []string {
	var all []string
	for i := range s.AllowedTopologies {
		for j, expression := range s.AllowedTopologies[i].MatchLabelExpressions {
			if text, deprecated := deprecatedNodeLabels[expression.Key]; deprecated {
				all = append(all, fmt.Sprintf("allowedTopologies[%d].matchLabelExpressions[%d].key: %s", i, j, text))
			}
		}
	}
	return all
}

func storageCapacityWarnings(c *storagev1.CSIStorageCapacity) []string {
	if c.NodeTopology == nil {
		return nil
	}
	p := field.NewPath("nodeTopology")
	var all []string
	for i, expression := range c.NodeTopology.MatchExpressions {
		if text, deprecated := deprecatedNodeLabels[expression.Key]; deprecated {
			all = append(all, fmt.Sprintf("%s: %s is %s", p.Child("matchExpressions").Index(i).Child("key"), expression.Key, text))
		}
	}
	return append(all, warnNodeLabels(c.NodeTopology.MatchLabels, func(key string) *field.Path { return p.Child("matchLabels").Child(key) })...)
}

func runtimeClassWarnings(r *nodev1.RuntimeClass) []string {
	if r.Scheduling == nil {
		return nil
	}
	return warnNodeLabels(r.Scheduling.NodeSelector, func(string) *field.Path { return field.NewPath("scheduling", "nodeSelector") })
}

func resourceSliceWarnings(s *resourcev1.ResourceSlice) []string {
	if s.Spec.Driver == strings.ToLower(s.Spec.Driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver)}
}
