package rows

import (
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/apiserverinternal/storageversion"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
	clocktesting "k8s.io/utils/clock/testing"
)

// foreignStatus is a strategy for objects that are not in the scheme of kube-apiserver.
type foreignStatus struct {
	strategy rest.RESTUpdateStrategy
	object   runtime.Object
}

// foreignStatusStrategies returns the strategies of the kinds that other servers within kube-apiserver serve.
func foreignStatusStrategies() map[schema.GroupVersionKind]foreignStatus {
	return map[schema.GroupVersionKind]foreignStatus{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: {
			customresourcedefinition.NewStatusStrategy(legacyscheme.Scheme), &apiextensions.CustomResourceDefinition{},
		},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}: {
			apiservice.NewStatusStrategy(legacyscheme.Scheme), &apiregistration.APIService{},
		},
	}
}

// statusStrategies returns upstream's strategies of status subresources by kind.
func statusStrategies() map[schema.GroupKind]rest.RESTUpdateStrategy {
	allowed := authorizerfactory.NewAlwaysAllowAuthorizer()
	noon := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	return map[schema.GroupKind]rest.RESTUpdateStrategy{
		{Group: "", Kind: "Namespace"}:                                              namespace.StatusStrategy,
		{Group: "", Kind: "Node"}:                                                   node.StatusStrategy,
		{Group: "", Kind: "PersistentVolume"}:                                       persistentvolume.StatusStrategy,
		{Group: "", Kind: "PersistentVolumeClaim"}:                                  persistentvolumeclaim.StatusStrategy,
		{Group: "", Kind: "Pod"}:                                                    pod.StatusStrategy,
		{Group: "", Kind: "ReplicationController"}:                                  replicationcontroller.StatusStrategy,
		{Group: "", Kind: "ResourceQuota"}:                                          resourcequota.StatusStrategy,
		{Group: "", Kind: "Service"}:                                                service.StatusStrategy,
		{Group: "apps", Kind: "DaemonSet"}:                                          daemonset.StatusStrategy,
		{Group: "apps", Kind: "Deployment"}:                                         deployment.StatusStrategy,
		{Group: "apps", Kind: "ReplicaSet"}:                                         replicaset.StatusStrategy,
		{Group: "apps", Kind: "StatefulSet"}:                                        statefulset.StatusStrategy,
		{Group: "batch", Kind: "CronJob"}:                                           cronjob.StatusStrategy,
		{Group: "batch", Kind: "Job"}:                                               job.StatusStrategy,
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:                     horizontalpodautoscaler.StatusStrategy,
		{Group: "policy", Kind: "PodDisruptionBudget"}:                              poddisruptionbudget.StatusStrategy,
		{Group: "networking.k8s.io", Kind: "Ingress"}:                               ingress.StatusStrategy,
		{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                           servicecidr.StatusStrategy,
		{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:           certificates.StatusStrategy,
		{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:                         volumeattachment.StatusStrategy,
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                 flowschema.StatusStrategy,
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}: prioritylevelconfiguration.StatusStrategy,
		{Group: "scheduling.k8s.io", Kind: "PodGroup"}:                              podgroup.NewStatusStrategy(podgroup.NewStrategy()),
		{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:                         devicetaintrule.StatusStrategy,
		{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}:               podcertificaterequest.NewStatusStrategy(podcertificaterequest.NewStrategy(), allowed, noon),
		{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"}:                storageversion.StatusStrategy,
		{Group: "resource.k8s.io", Kind: "ResourcePoolStatusRequest"}:               resourcepoolstatusrequest.StatusStrategy,
		{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                           resourceclaim.NewStatusStrategy(resourceclaim.NewStrategy(nil, allowed)),
		{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}:         storagemigration.StatusStrategy,
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:  validatingadmissionpolicy.NewStatusStrategy(validatingadmissionpolicy.NewStrategy(nil, nil)),
	}
}
