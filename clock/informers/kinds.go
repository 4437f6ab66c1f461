package informers

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeinformers "k8s.io/client-go/informers"
	admissionregistrationinformers "k8s.io/client-go/informers/admissionregistration/v1"
	storageversioninformers "k8s.io/client-go/informers/apiserverinternal/v1alpha1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	autoscalinginformers "k8s.io/client-go/informers/autoscaling/v2"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/informers/internalinterfaces"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	poolstatusinformers "k8s.io/client-go/informers/resource/v1alpha3"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	storagemigrationinformers "k8s.io/client-go/informers/storagemigration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
)

// Kinds are the shared informers of the kinds that controllers, the scheduler and kubelets
// read. Requesting one makes it; Start starts those that were requested.
//
// Those packages receive it in place of client-go's SharedInformerFactory. A
// package that mentions the factory, however indirectly, compiles the generic informer types
// of each kind of Kubernetes once more: 30,000 symbols for a controller of a hundred lines,
// which each test binary then links.
type Kinds interface {
	// Start starts the requested informers that do not run yet. They end when stop is closed.
	Start(stop <-chan struct{})
	// Shutdown waits until all started informers have ended.
	Shutdown()
	// InformerFor returns the one informer for obj's type, which newFunc makes if there is none yet.
	InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer
	// ForResource returns the informer of one of client-go's resources.
	ForResource(resource schema.GroupVersionResource) (kubeinformers.GenericInformer, error)

	ValidatingAdmissionPolicies() admissionregistrationinformers.ValidatingAdmissionPolicyInformer

	ControllerRevisions() appsinformers.ControllerRevisionInformer
	DaemonSets() appsinformers.DaemonSetInformer
	Deployments() appsinformers.DeploymentInformer
	ReplicaSets() appsinformers.ReplicaSetInformer
	StatefulSets() appsinformers.StatefulSetInformer

	HorizontalPodAutoscalers() autoscalinginformers.HorizontalPodAutoscalerInformer

	CronJobs() batchinformers.CronJobInformer
	Jobs() batchinformers.JobInformer

	CertificateSigningRequests() certificatesinformers.CertificateSigningRequestInformer
	ClusterTrustBundles() certificatesinformers.ClusterTrustBundleInformer
	PodCertificateRequests() certificatesinformers.PodCertificateRequestInformer

	Leases() coordinationinformers.LeaseInformer

	ConfigMaps() coreinformers.ConfigMapInformer
	Endpoints() coreinformers.EndpointsInformer
	Namespaces() coreinformers.NamespaceInformer
	Nodes() coreinformers.NodeInformer
	PersistentVolumeClaims() coreinformers.PersistentVolumeClaimInformer
	PersistentVolumes() coreinformers.PersistentVolumeInformer
	Pods() coreinformers.PodInformer
	ReplicationControllers() coreinformers.ReplicationControllerInformer
	ResourceQuotas() coreinformers.ResourceQuotaInformer
	Secrets() coreinformers.SecretInformer
	ServiceAccounts() coreinformers.ServiceAccountInformer
	Services() coreinformers.ServiceInformer

	EndpointSlices() discoveryinformers.EndpointSliceInformer

	IPAddresses() networkinginformers.IPAddressInformer
	IngressClasses() networkinginformers.IngressClassInformer
	Ingresses() networkinginformers.IngressInformer
	NetworkPolicies() networkinginformers.NetworkPolicyInformer
	ServiceCIDRs() networkinginformers.ServiceCIDRInformer

	PodDisruptionBudgets() policyinformers.PodDisruptionBudgetInformer

	PodGroups() schedulinginformers.PodGroupInformer

	ClusterRoles() rbacinformers.ClusterRoleInformer

	DeviceClasses() resourceinformers.DeviceClassInformer
	DeviceTaintRules() resourceinformers.DeviceTaintRuleInformer
	ResourceClaimTemplates() resourceinformers.ResourceClaimTemplateInformer
	ResourceClaims() resourceinformers.ResourceClaimInformer
	ResourcePoolStatusRequests() poolstatusinformers.ResourcePoolStatusRequestInformer
	ResourceSlices() resourceinformers.ResourceSliceInformer

	CSIDrivers() storageinformers.CSIDriverInformer
	CSINodes() storageinformers.CSINodeInformer
	CSIStorageCapacities() storageinformers.CSIStorageCapacityInformer
	StorageClasses() storageinformers.StorageClassInformer
	VolumeAttachments() storageinformers.VolumeAttachmentInformer
	VolumeAttributesClasses() storageinformers.VolumeAttributesClassInformer

	StorageVersionMigrations() storagemigrationinformers.StorageVersionMigrationInformer
	StorageVersions() storageversioninformers.StorageVersionInformer
}

// ByKind returns the informers of a factory.
func ByKind(factory kubeinformers.SharedInformerFactory) Kinds { return kinds{factory} }

// KindsOf is ByKind(New(client, ledger, opts...)) for packages that do not mention a factory.
//
//go:noinline
func KindsOf(client kubernetes.Interface, ledger *clock.Ledger, opts ...Option) Kinds {
	return kinds{New(client, ledger, opts...)}
}

// KindsFor is ByKind of NewForConfig(config, ledger, opts...) for packages that do not mention a factory.
//
//go:noinline
func KindsFor(config *rest.Config, ledger *clock.Ledger, opts ...Option) (Kinds, error) {
	f, err := NewForConfig(config, ledger, opts...)
	if err != nil {
		return nil, err
	}
	return kinds{f}, nil
}

type kinds struct {
	kubeinformers.SharedInformerFactory
}

func (k kinds) ValidatingAdmissionPolicies() admissionregistrationinformers.ValidatingAdmissionPolicyInformer {
	return k.Admissionregistration().V1().ValidatingAdmissionPolicies()
}

func (k kinds) ControllerRevisions() appsinformers.ControllerRevisionInformer {
	return k.Apps().V1().ControllerRevisions()
}

func (k kinds) DaemonSets() appsinformers.DaemonSetInformer { return k.Apps().V1().DaemonSets() }

func (k kinds) Deployments() appsinformers.DeploymentInformer { return k.Apps().V1().Deployments() }

func (k kinds) ReplicaSets() appsinformers.ReplicaSetInformer { return k.Apps().V1().ReplicaSets() }

func (k kinds) StatefulSets() appsinformers.StatefulSetInformer { return k.Apps().V1().StatefulSets() }

func (k kinds) HorizontalPodAutoscalers() autoscalinginformers.HorizontalPodAutoscalerInformer {
	return k.Autoscaling().V2().HorizontalPodAutoscalers()
}

func (k kinds) CronJobs() batchinformers.CronJobInformer { return k.Batch().V1().CronJobs() }

func (k kinds) Jobs() batchinformers.JobInformer { return k.Batch().V1().Jobs() }

func (k kinds) CertificateSigningRequests() certificatesinformers.CertificateSigningRequestInformer {
	return k.Certificates().V1().CertificateSigningRequests()
}

func (k kinds) ClusterTrustBundles() certificatesinformers.ClusterTrustBundleInformer {
	return k.Certificates().V1().ClusterTrustBundles()
}

func (k kinds) PodCertificateRequests() certificatesinformers.PodCertificateRequestInformer {
	return k.Certificates().V1().PodCertificateRequests()
}

func (k kinds) Leases() coordinationinformers.LeaseInformer { return k.Coordination().V1().Leases() }

func (k kinds) ConfigMaps() coreinformers.ConfigMapInformer { return k.Core().V1().ConfigMaps() }

func (k kinds) Endpoints() coreinformers.EndpointsInformer { return k.Core().V1().Endpoints() }

func (k kinds) Namespaces() coreinformers.NamespaceInformer { return k.Core().V1().Namespaces() }

func (k kinds) Nodes() coreinformers.NodeInformer { return k.Core().V1().Nodes() }

func (k kinds) PersistentVolumeClaims() coreinformers.PersistentVolumeClaimInformer {
	return k.Core().V1().PersistentVolumeClaims()
}

func (k kinds) PersistentVolumes() coreinformers.PersistentVolumeInformer {
	return k.Core().V1().PersistentVolumes()
}

func (k kinds) Pods() coreinformers.PodInformer { return k.Core().V1().Pods() }

func (k kinds) ReplicationControllers() coreinformers.ReplicationControllerInformer {
	return k.Core().V1().ReplicationControllers()
}

func (k kinds) ResourceQuotas() coreinformers.ResourceQuotaInformer {
	return k.Core().V1().ResourceQuotas()
}

func (k kinds) Secrets() coreinformers.SecretInformer { return k.Core().V1().Secrets() }

func (k kinds) ServiceAccounts() coreinformers.ServiceAccountInformer {
	return k.Core().V1().ServiceAccounts()
}

func (k kinds) Services() coreinformers.ServiceInformer { return k.Core().V1().Services() }

func (k kinds) EndpointSlices() discoveryinformers.EndpointSliceInformer {
	return k.Discovery().V1().EndpointSlices()
}

func (k kinds) IngressClasses() networkinginformers.IngressClassInformer {
	return k.Networking().V1().IngressClasses()
}

func (k kinds) Ingresses() networkinginformers.IngressInformer {
	return k.Networking().V1().Ingresses()
}

func (k kinds) IPAddresses() networkinginformers.IPAddressInformer {
	return k.Networking().V1().IPAddresses()
}

func (k kinds) NetworkPolicies() networkinginformers.NetworkPolicyInformer {
	return k.Networking().V1().NetworkPolicies()
}

func (k kinds) ServiceCIDRs() networkinginformers.ServiceCIDRInformer {
	return k.Networking().V1().ServiceCIDRs()
}

func (k kinds) PodDisruptionBudgets() policyinformers.PodDisruptionBudgetInformer {
	return k.Policy().V1().PodDisruptionBudgets()
}

func (k kinds) PodGroups() schedulinginformers.PodGroupInformer {
	return k.Scheduling().V1beta1().PodGroups()
}

func (k kinds) ClusterRoles() rbacinformers.ClusterRoleInformer { return k.Rbac().V1().ClusterRoles() }

func (k kinds) DeviceClasses() resourceinformers.DeviceClassInformer {
	return k.Resource().V1().DeviceClasses()
}

func (k kinds) DeviceTaintRules() resourceinformers.DeviceTaintRuleInformer {
	return k.Resource().V1().DeviceTaintRules()
}

func (k kinds) ResourceClaimTemplates() resourceinformers.ResourceClaimTemplateInformer {
	return k.Resource().V1().ResourceClaimTemplates()
}

func (k kinds) ResourceClaims() resourceinformers.ResourceClaimInformer {
	return k.Resource().V1().ResourceClaims()
}

func (k kinds) ResourcePoolStatusRequests() poolstatusinformers.ResourcePoolStatusRequestInformer {
	return k.Resource().V1alpha3().ResourcePoolStatusRequests()
}

func (k kinds) ResourceSlices() resourceinformers.ResourceSliceInformer {
	return k.Resource().V1().ResourceSlices()
}

func (k kinds) CSIDrivers() storageinformers.CSIDriverInformer { return k.Storage().V1().CSIDrivers() }

func (k kinds) CSINodes() storageinformers.CSINodeInformer { return k.Storage().V1().CSINodes() }

func (k kinds) CSIStorageCapacities() storageinformers.CSIStorageCapacityInformer {
	return k.Storage().V1().CSIStorageCapacities()
}

func (k kinds) StorageClasses() storageinformers.StorageClassInformer {
	return k.Storage().V1().StorageClasses()
}

func (k kinds) VolumeAttachments() storageinformers.VolumeAttachmentInformer {
	return k.Storage().V1().VolumeAttachments()
}

func (k kinds) VolumeAttributesClasses() storageinformers.VolumeAttributesClassInformer {
	return k.Storage().V1().VolumeAttributesClasses()
}

func (k kinds) StorageVersionMigrations() storagemigrationinformers.StorageVersionMigrationInformer {
	return k.Storagemigration().V1().StorageVersionMigrations()
}

func (k kinds) StorageVersions() storageversioninformers.StorageVersionInformer {
	return k.Internal().V1alpha1().StorageVersions()
}
