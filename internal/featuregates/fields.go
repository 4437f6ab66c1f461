package featuregates

import "minikcm.dev/minikcm/internal/releases"

// Field names a field that exists only with a feature: the group and the name of the type that has it, and
// the path from there, as in "core.PodSpec containers.restartPolicy". It is the same in all versions of the
// group.
type Field string

// fieldsByGate are the fields that upstream drops while a feature is off, unless the object has them
// already.
var fieldsByGate = map[string][]Field{
	"APIServerWebhookAuthenticationToken": {"authentication.TokenRequestSpec attestations"},
	"AtomicWriteVolumeUserFields": {
		"core.KeyToPath user", "core.DownwardAPIVolumeFile user", "core.SecretVolumeSource defaultUser", "core.ConfigMapVolumeSource defaultUser",
		"core.DownwardAPIVolumeSource defaultUser", "core.ProjectedVolumeSource defaultUser", "core.ServiceAccountTokenProjection user",
		"core.ClusterTrustBundleProjection user", "core.PodCertificateProjection user",
	},
	"AuthorizeWithSelectors":       {"authorization.ResourceAttributes fieldSelector", "authorization.ResourceAttributes labelSelector"},
	"ClusterTrustBundleProjection": {"core.VolumeProjection clusterTrustBundle"},
	"CompositePodGroup": {
		"scheduling.PodGroupSpec parentCompositePodGroupName", "scheduling.WorkloadSpec compositePodGroupTemplates",
		"scheduling.CompositePodGroupTemplate compositePodGroupTemplates",
	},
	"ContainerRestartRules": {
		"core.Container restartPolicyRules", "core.EphemeralContainerCommon restartPolicyRules", "core.PodSpec containers.restartPolicy",
	},
	"ContainerStopSignals":      {"core.Lifecycle stopSignal", "core.ContainerStatus stopSignal"},
	"CoordinatedLeaderElection": {"coordination.LeaseSpec strategy", "coordination.LeaseSpec preferredHolder"},
	"CRDObservedGenerationTracking": {
		"apiextensions.CustomResourceDefinitionStatus observedGeneration", "apiextensions.CustomResourceDefinitionCondition observedGeneration",
	},
	"CSIServiceAccountTokenSecrets": {"storage.CSIDriverSpec serviceAccountTokenInSecrets"},
	"CSIVolumeHealth":               {"core.PersistentVolumeClaimStatus healthStatus", "core.PodStatus volumeHealth", "storage.CSINode status"},
	"CustomResourceFieldSelectors":  {"apiextensions.CustomResourceDefinitionVersion selectableFields"},
	"DeploymentReplicaSetTerminatingReplicas": {
		"apps.DeploymentStatus terminatingReplicas", "apps.ReplicaSetStatus terminatingReplicas",
	},
	"DRAAdminAccess": {
		"resource.ExactDeviceRequest adminAccess", "resource.DeviceRequest adminAccess", "resource.DeviceRequestAllocationResult adminAccess",
	},
	"DRAConsumableCapacity": {
		"resource.DeviceConstraint distinctAttribute", "resource.ExactDeviceRequest capacity", "resource.DeviceRequest capacity",
		"resource.DeviceSubRequest capacity", "resource.Device allowMultipleAllocations", "resource.BasicDevice allowMultipleAllocations",
		"resource.DeviceCapacity requestPolicy", "resource.DeviceRequestAllocationResult shareID", "resource.DeviceRequestAllocationResult consumedCapacity",
		"resource.AllocatedDeviceStatus shareID",
	},
	"DRADerivedAttributes": {
		"resource.ExactDeviceRequest derivedAttributes", "resource.DeviceRequest derivedAttributes", "resource.DeviceSubRequest derivedAttributes",
	},
	"DRADeviceBindingConditions": {
		"resource.Device bindingConditions", "resource.Device bindingFailureConditions", "resource.Device bindsToNode",
		"resource.BasicDevice bindingConditions", "resource.BasicDevice bindingFailureConditions", "resource.BasicDevice bindsToNode",
		"resource.DeviceRequestAllocationResult bindingConditions", "resource.DeviceRequestAllocationResult bindingFailureConditions",
		"resource.AllocationResult allocationTimestamp",
	},
	"DRADeviceCompatibilityGroups": {"resource.DeviceCounterConsumption compatibilityGroups"},
	"DRADeviceTaints": {
		"resource.ExactDeviceRequest tolerations", "resource.DeviceRequest tolerations", "resource.DeviceSubRequest tolerations",
		"resource.Device taints", "resource.BasicDevice taints", "resource.DeviceRequestAllocationResult tolerations",
	},
	"DRAExtendedResource": {"core.PodStatus extendedResourceClaimStatus", "resource.DeviceClassSpec extendedResourceName"},
	"DRAListTypeAttributes": {
		"resource.DeviceAttribute bools", "resource.DeviceAttribute ints", "resource.DeviceAttribute strings", "resource.DeviceAttribute versions",
	},
	"DRANodeAllocatableResources": {
		"core.PodStatus nodeAllocatableResourceClaimStatuses", "resource.Device nodeAllocatableResources", "resource.BasicDevice nodeAllocatableResources",
	},
	"DRAOptionalNodeOperations": {"resource.ResourceSliceSpec skipNodeOperations", "resource.DeviceRequestAllocationResult skipNodeOperations"},
	"DRAPartitionableDevices": {
		"resource.ResourceSliceSpec sharedCounters", "resource.ResourceSliceSpec perDeviceNodeSelection",
		"resource.Device consumesCounters", "resource.Device nodeName", "resource.Device nodeSelector", "resource.Device allNodes",
		"resource.BasicDevice consumesCounters", "resource.BasicDevice nodeName", "resource.BasicDevice nodeSelector", "resource.BasicDevice allNodes",
	},
	DRAPartitionableDevicesType: {
		"resource.ResourceSliceSpec partitionTypeAttribute", "resource.ResourcePoolStatusRequestSpec defaultPartitionTypeAttribute",
	},
	"DRAPrioritizedList":           {"resource.DeviceRequest firstAvailable"},
	"DRAResourceClaimDeviceStatus": {"resource.ResourceClaimStatus devices"},
	"DRAWorkloadResourceClaims": {
		"scheduling.PodGroupSpec resourceClaims", "scheduling.PodGroupStatus resourceClaimStatuses", "scheduling.PodGroupTemplate resourceClaims",
	},
	"DynamicResourceAllocation": {"core.PodSpec resourceClaims", "core.PodStatus resourceClaimStatuses", "core.ResourceRequirements claims"},
	"EmptyDirVolumeMode":        {"core.EmptyDirVolumeSource mode"},
	"EnvFiles":                  {"core.EnvVarSource fileKeyRef"},
	"EvictionRequestAPI":        {"core.PodSpec evictionResponders"},
	GenericWorkload:             {"core.PodSpec schedulingGroup"},
	"GRPCContainerProbeTLS":     {"core.GRPCAction mode"},
	"H2CContainerProbe":         {"core.HTTPGetAction protocol"},
	"HostnameOverride":          {"core.PodSpec hostnameOverride"},
	"HPAConfigurableTolerance":  {"autoscaling.HPAScalingRules tolerance"},
	HPAGeneration:               {"autoscaling.HorizontalPodAutoscalerStatus observedGeneration"},
	"ImageVolume":               {"core.VolumeSource image"},
	"ImageVolumeWithDigest":     {"core.VolumeMountStatus volumeStatus"},
	"InPlacePodLevelResourcesVerticalScaling": {
		"core.PodStatus resources", "core.PodStatus allocatedResources",
	},
	"InPlacePodVerticalScaling": {
		"core.Container resizePolicy", "core.EphemeralContainerCommon resizePolicy", "core.ContainerStatus resources", "core.ContainerStatus allocatedResources",
		"core.PodStatus resize",
	},
	"InPlacePodVerticalScalingSchedulerPreemption": {"core.NodeSpec podPreemptionPolicy"},
	"JobManagedBy":                           {"batch.JobSpec managedBy"},
	"JobSuccessPolicy":                       {"batch.JobSpec successPolicy"},
	"KubeletInUserNamespace":                 {"core.NodeSystemInfo runningInUserNamespace"},
	"MatchLabelKeysInPodAffinity":            {"core.PodAffinityTerm matchLabelKeys", "core.PodAffinityTerm mismatchLabelKeys"},
	"MatchLabelKeysInPodTopologySpread":      {"core.TopologySpreadConstraint matchLabelKeys"},
	"MaxUnavailableStatefulSet":              {"apps.RollingUpdateStatefulSetStrategy maxUnavailable"},
	"MutableCSINodeAllocatableCount":         {"storage.CSIDriverSpec nodeAllocatableUpdatePeriodSeconds", "storage.VolumeError errorCode"},
	"NodeDeclaredFeatures":                   {"core.NodeStatus declaredFeatures"},
	"NodeInclusionPolicyInPodTopologySpread": {"core.TopologySpreadConstraint nodeAffinityPolicy", "core.TopologySpreadConstraint nodeTaintsPolicy"},
	"PodCertificateRequest":                  {"core.VolumeProjection podCertificate"},
	"PodGroupPreemptionPolicy":               {"scheduling.PodGroupSpec preemptionPolicy", "scheduling.PodGroupTemplate preemptionPolicy", "scheduling.CompositePodGroupTemplate preemptionPolicy"},
	"PodLevelResources":                      {"core.PodSpec resources"},
	"PodObservedGenerationTracking":          {"core.PodStatus observedGeneration", "core.PodCondition observedGeneration"},
	"PreferSameTrafficDistribution":          {"discovery.EndpointHints forNodes"},
	"ProcMountType":                          {"core.SecurityContext procMount"},
	"RecoverVolumeExpansionFailure":          {"core.PersistentVolumeClaimStatus allocatedResources", "core.PersistentVolumeClaimStatus allocatedResourceStatuses"},
	"RecursiveReadOnlyMounts":                {"core.VolumeMount recursiveReadOnly", "core.ContainerStatus volumeMounts"},
	"ResourceHealthStatus":                   {"core.ContainerStatus allocatedResourcesStatus"},
	"ResourceHealthStatusMessage":            {"core.ResourceHealth message"},
	"SELinuxChangePolicy":                    {"core.PodSecurityContext seLinuxChangePolicy"},
	"SELinuxMountReadWriteOncePod":           {"storage.CSIDriverSpec seLinuxMount"},
	"ServiceTrafficDistribution":             {"core.ServiceSpec trafficDistribution"},
	"SupplementalGroupsPolicy":               {"core.PodSecurityContext supplementalGroupsPolicy", "core.ContainerStatus user", "core.NodeStatus features"},
	"TopologyAwareWorkloadScheduling":        {"scheduling.PodGroupSpec schedulingConstraints", "scheduling.PodGroupTemplate schedulingConstraints"},
	"UserNamespacesSupport":                  {"core.PodSpec hostUsers"},
	"VolumeAttributesClass": {
		"core.PersistentVolumeSpec volumeAttributesClassName", "core.PersistentVolumeClaimSpec volumeAttributesClassName",
		"core.PersistentVolumeClaimStatus currentVolumeAttributesClassName", "core.PersistentVolumeClaimStatus modifyVolumeStatus",
	},
	"VolumeBindMountOptions": {"core.VolumeMount bindMountOptions"},
	"VolumeLimitScaling":     {"storage.CSIDriverSpec preventPodSchedulingIfMissing"},
	"WorkloadWithJob":        {"batch.JobSpec scheduling"},
}

// Off returns the fields of features that are off, by gate.
func (g Gates) Off() map[string][]Field {
	off := map[string][]Field{}
	for name, fields := range fieldsByGate {
		if !g.Enabled(name) {
			off[name] = fields
		}
	}
	return off
}

// Lacks returns the fields that the release does not have, whatever its gates.
func (g Gates) Lacks() []releases.Field { return g.Release().Lacks() }
