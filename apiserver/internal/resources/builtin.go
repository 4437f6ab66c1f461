package resources

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/columns"
)

// featureRows returns the rows of kinds that upstream serves only with a feature gate that is off by default.
func featureRows() []*Resource {
	return append(groupRows(),
		resourcePoolStatusRequestRow().shown(columns.ResourcePoolStatusRequest()),
		storageVersionRow().shown(columns.StorageVersion()),
	)
}

// groupRows returns the rows of gang scheduling.
func groupRows() []*Resource {
	return []*Resource{
		podGroupRow().shown(columns.PodGroup()),
		schedulingWorkloadRow().shown(columns.SchedulingWorkload()),
	}
}

func coreRows() []*Resource {
	return []*Resource{
		bindingRow(),
		componentStatusRow().shown(columns.ComponentStatus()),
		configMapRow().shown(columns.ConfigMap()),
		endpointsRow().shown(columns.Endpoints()),
		eventRow().shown(columns.Event()),
		namespaceRow().shown(columns.Namespace()),
		limitRangeRow(),
		nodeRow().shown(columns.Node()),
		persistentVolumeRow().shown(columns.PersistentVolume()),
		persistentVolumeClaimRow().shown(columns.PersistentVolumeClaim()),
		podRow().shown(columns.Pod()),
		podTemplateRow().shown(columns.PodTemplate()),
		replicationControllerRow().shown(columns.ReplicationController()),
		resourceQuotaRow().shown(columns.ResourceQuota()),
		secretRow().shown(columns.Secret()),
		serviceRow().shown(columns.Service()),
		serviceAccountRow().shown(columns.ServiceAccount()),
	}
}

// workloadRows returns the rows of apps, autoscaling, batch and policy.
func workloadRows() []*Resource {
	return []*Resource{
		controllerRevisionRow().shown(columns.ControllerRevision()),
		daemonSetRow().shown(columns.DaemonSet()),
		deploymentRow().shown(columns.Deployment()),
		replicaSetRow().shown(columns.ReplicaSet()),
		statefulSetRow().shown(columns.StatefulSet()),
		horizontalPodAutoscalerRow().shown(columns.HorizontalPodAutoscaler()),
		horizontalPodAutoscalerV1Row().shownAsStored(columns.HorizontalPodAutoscaler()),
		cronJobRow().shown(columns.CronJob()),
		jobRow().shown(columns.Job()),
		podDisruptionBudgetRow().shown(columns.PodDisruptionBudget()),
	}
}

func networkRows() []*Resource {
	return []*Resource{
		endpointSliceRow().shown(columns.EndpointSlice()),
		ingressRow().shown(columns.Ingress()),
		ingressClassRow().shown(columns.IngressClass()),
		ipAddressRow().shown(columns.IPAddress()),
		networkPolicyRow().shown(columns.NetworkPolicy()),
		serviceCIDRRow().shown(columns.ServiceCIDR()),
	}
}

func storageRows() []*Resource {
	return []*Resource{
		csiDriverRow().shown(columns.CSIDriver()),
		csiNodeRow().shown(columns.CSINode()),
		csiStorageCapacityRow().shown(columns.CSIStorageCapacity()),
		storageClassRow().shown(columns.StorageClass()),
		storageVersionMigrationRow().shown(columns.StorageVersionMigration()),
		volumeAttachmentRow().shown(columns.VolumeAttachment()),
		volumeAttributesClassRow().shown(columns.VolumeAttributesClass()),
	}
}

// authorizationRows returns the rows of RBAC and certificates.
func authorizationRows() []*Resource {
	return []*Resource{
		clusterRoleRow(),
		clusterRoleBindingRow().shown(columns.ClusterRoleBinding()),
		roleRow(),
		roleBindingRow().shown(columns.RoleBinding()),
		certificateSigningRequestRow().shown(columns.CertificateSigningRequest()),
		clusterTrustBundleRow().shown(columns.ClusterTrustBundle()),
		podCertificateRequestRow().shown(columns.PodCertificateRequest()),
	}
}

// admissionRows returns the rows of admission and flow control.
func admissionRows() []*Resource {
	return []*Resource{
		mutatingAdmissionPolicyRow().shown(columns.MutatingAdmissionPolicy()),
		mutatingAdmissionPolicyBindingRow().shown(columns.MutatingAdmissionPolicyBinding()),
		mutatingWebhookConfigurationRow().shown(columns.MutatingWebhookConfiguration()),
		validatingAdmissionPolicyRow().shown(columns.ValidatingAdmissionPolicy()),
		validatingAdmissionPolicyBindingRow().shown(columns.ValidatingAdmissionPolicyBinding()),
		validatingWebhookConfigurationRow().shown(columns.ValidatingWebhookConfiguration()),
		flowSchemaRow().shown(columns.FlowSchema()),
		priorityLevelConfigurationRow().shown(columns.PriorityLevelConfiguration()),
	}
}

// clusterRows returns the rows of groups with one kind.
func clusterRows() []*Resource {
	return []*Resource{
		runtimeClassRow().shown(columns.RuntimeClass()),
		eventsEventRow().shown(columns.EventsV1Event()),
		priorityClassRow().shown(columns.PriorityClass()),
		leaseRow().shown(columns.Lease()),
	}
}

func deviceRows() []*Resource {
	return []*Resource{
		deviceClassRow().shown(columns.DeviceClass()),
		deviceTaintRuleRow().shown(columns.DeviceTaintRule()),
		resourceClaimRow().shown(columns.ResourceClaim()),
		resourceClaimTemplateRow().shown(columns.ResourceClaimTemplate()),
		resourceSliceRow().shown(columns.ResourceSlice()),
	}
}

// shown sets a row's Table form.
func (r *Resource) shown(t columns.Table) *Resource {
	r.Columns, r.Cells, r.CellsOf = t.Columns, t.Cells, t.CellsOf
	return r
}

// shownAsStored gives a row the Table form of the stored version.
func (r *Resource) shownAsStored(t columns.Table) *Resource {
	r.Columns = t.Columns
	r.Cells = func(obj runtime.Object, now time.Time) []any { return t.Cells(r.Storage.To(obj), now) }
	return r
}
