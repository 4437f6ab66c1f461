package controllers

import (
	"minikcm.dev/minikcm/controllers/internal/admissionpolicystatus"
	"minikcm.dev/minikcm/controllers/internal/bootstrapsigner"
	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation"
	"minikcm.dev/minikcm/controllers/internal/cronjob"
	"minikcm.dev/minikcm/controllers/internal/daemonset"
	"minikcm.dev/minikcm/controllers/internal/deployment"
	"minikcm.dev/minikcm/controllers/internal/devicedriver"
	"minikcm.dev/minikcm/controllers/internal/devicetainteviction"
	"minikcm.dev/minikcm/controllers/internal/disruption"
	"minikcm.dev/minikcm/controllers/internal/endpoints"
	"minikcm.dev/minikcm/controllers/internal/endpointslice"
	"minikcm.dev/minikcm/controllers/internal/endpointslicemirroring"
	"minikcm.dev/minikcm/controllers/internal/ephemeralvolume"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector"
	"minikcm.dev/minikcm/controllers/internal/job"
	"minikcm.dev/minikcm/controllers/internal/legacyserviceaccounttokencleaner"
	"minikcm.dev/minikcm/controllers/internal/namespace"
	"minikcm.dev/minikcm/controllers/internal/nodeipam"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeexpander"
	"minikcm.dev/minikcm/controllers/internal/podautoscaler"
	"minikcm.dev/minikcm/controllers/internal/podgc"
	"minikcm.dev/minikcm/controllers/internal/podgroupprotection"
	"minikcm.dev/minikcm/controllers/internal/pvcprotection"
	"minikcm.dev/minikcm/controllers/internal/pvprotection"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
	"minikcm.dev/minikcm/controllers/internal/replicationcontroller"
	"minikcm.dev/minikcm/controllers/internal/resourceclaim"
	"minikcm.dev/minikcm/controllers/internal/resourcepoolstatusrequest"
	"minikcm.dev/minikcm/controllers/internal/resourcequota"
	"minikcm.dev/minikcm/controllers/internal/rootca"
	"minikcm.dev/minikcm/controllers/internal/selinuxwarning"
	"minikcm.dev/minikcm/controllers/internal/serviceaccount"
	"minikcm.dev/minikcm/controllers/internal/serviceaccounttoken"
	"minikcm.dev/minikcm/controllers/internal/servicecidrs"
	"minikcm.dev/minikcm/controllers/internal/serviceloadbalancer"
	"minikcm.dev/minikcm/controllers/internal/simulatedingress"
	"minikcm.dev/minikcm/controllers/internal/statefulset"
	"minikcm.dev/minikcm/controllers/internal/storageversiongarbagecollector"
	"minikcm.dev/minikcm/controllers/internal/storageversionmigrator"
	"minikcm.dev/minikcm/controllers/internal/tainteviction"
	"minikcm.dev/minikcm/controllers/internal/tokencleaner"
	"minikcm.dev/minikcm/controllers/internal/ttl"
	"minikcm.dev/minikcm/controllers/internal/ttlafterfinished"
	"minikcm.dev/minikcm/controllers/internal/vacprotection"
	"minikcm.dev/minikcm/controllers/internal/volumeattacher"
	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner"
	"minikcm.dev/minikcm/internal/featuregates"
)

// Descriptors returns the table, in the order in which controllers are built and started.
// docs/controllers.md is generated from it.
func Descriptors() []Descriptor {
	var table []Descriptor
	table = append(table, clusterControllers()...)
	table = append(table, workloadControllers()...)
	table = append(table, jobControllers()...)
	table = append(table, networkControllers()...)
	table = append(table, certificateControllers()...)
	table = append(table, bootstrapControllers()...)
	table = append(table, cleaningControllers()...)
	table = append(table, cloudControllers()...)
	table = append(table, storageControllers()...)
	table = append(table, storageProtection()...)
	table = append(table, deviceControllers()...)
	return append(table, groupControllers()...)
}

// groupControllers returns the controllers of gang scheduling.
func groupControllers() []Descriptor {
	return []Descriptor{
		{
			Name: podgroupprotection.Name, Gate: featuregates.GenericWorkload, Account: "podgroup-protection-controller",
			About:   "keeps PodGroups that are being deleted until their pods have ended",
			Watches: []string{"podgroups", "pods"}, Writes: []string{"podgroups"},
			Docs:  "concepts/scheduling-eviction/gang-scheduling/",
			Build: constructor(podgroupprotection.New),
		},
	}
}

// deviceControllers returns the controllers of dynamic resource allocation.
func deviceControllers() []Descriptor {
	return []Descriptor{
		{
			Name: devicedriver.Name, Account: devicedriver.Account,
			About:   "publishes the simulated devices of nodes, as the drivers of devices do (not one of upstream's)",
			Watches: []string{"nodes", "resourceslices", "deviceclasses"}, Writes: []string{"resourceslices", "deviceclasses"},
			Docs:  "concepts/scheduling-eviction/dynamic-resource-allocation/",
			Build: constructor(devicedriver.New),
		},
		{
			Name: devicetainteviction.Name, Account: "device-taint-eviction-controller",
			About:   "evicts pods that use devices whose taints they do not tolerate",
			Watches: []string{"pods", "resourceclaims", "resourceslices", "devicetaintrules"}, Writes: []string{"pods", "pods/status"},
			Docs:    "concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations",
			Workers: devicetainteviction.Workers, Concurrency: Concurrency{Flag: "concurrent-device-taint-eviction-syncs", What: "pods", In: func(s *Settings) *int32 {
				return &s.DeviceTaintEvictionController.ConcurrentSyncs
			}},
			Build: constructor(devicetainteviction.New),
		},
		{
			Name: resourceclaim.Name, Aliases: []string{"resource-claim-controller"}, Account: "resource-claim-controller",
			About:   "creates the resource claims of pods from templates, and frees claims whose pods have ended",
			Watches: []string{"pods", "resourceclaims", "resourceclaimtemplates"},
			Writes:  []string{"resourceclaims", "resourceclaims/status", "pods/status"},
			Docs:    "concepts/scheduling-eviction/dynamic-resource-allocation/",
			Workers: resourceclaim.Workers, Concurrency: Concurrency{Flag: "concurrent-resourceclaim-syncs", What: "pods and resource claims", In: func(s *Settings) *int32 {
				return &s.ResourceClaimController.ConcurrentSyncs
			}},
			Build: constructor(resourceclaim.New),
		},
		{
			Name: resourcepoolstatusrequest.Name, Gate: featuregates.DRAResourcePoolStatus, Account: "resourcepoolstatusrequest-controller",
			About:   "answers ResourcePoolStatusRequests with the numbers of devices in pools, and deletes the requests an hour later",
			Watches: []string{"resourcepoolstatusrequests", "resourceslices", "resourceclaims", "devicetaintrules"},
			Writes:  []string{"resourcepoolstatusrequests", "resourcepoolstatusrequests/status"},
			Docs:    "reference/kubernetes-api/resource/resource-pool-status-request-v1alpha3/",
			Build:   constructor(resourcepoolstatusrequest.New),
		},
	}
}

// storageControllers bind claims to volumes, and attach these.
func storageControllers() []Descriptor {
	return []Descriptor{
		{
			Name: persistentvolumebinder.Name, Aliases: []string{"persistentvolume-binder"}, Account: "persistent-volume-binder",
			About:   "binds claims to volumes, and reclaims volumes whose claim is gone",
			Watches: []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses", "pods"},
			Writes:  []string{"persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes", "persistentvolumes/status", "pods"},
			Docs:    "concepts/storage/persistent-volumes/#binding",
			Build:   constructor(persistentvolumebinder.New),
		},
		{
			Name: volumeprovisioner.Name, Account: "persistent-volume-binder",
			About:   "creates, expands and deletes the volumes of simulated StorageClasses (not one of upstream's)",
			Watches: []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses", "volumeattachments", "nodes"},
			Writes:  []string{"persistentvolumes", "persistentvolumeclaims", "persistentvolumeclaims/status"},
			Docs:    "concepts/storage/dynamic-provisioning/",
			Build:   constructor(volumeprovisioner.New),
		},
		{
			Name: persistentvolumeattachdetach.Name, Aliases: []string{"attachdetach"}, Account: "attachdetach-controller",
			About:   "attaches the volumes of CSI drivers to the nodes of the pods that use them, and detaches them",
			Watches: []string{"pods", "nodes", "persistentvolumes", "persistentvolumeclaims", "volumeattachments", "csidrivers"},
			Writes:  []string{"volumeattachments", "nodes/status"},
			Docs:    "concepts/storage/persistent-volumes/",
			Flags:   attachDetachFlags, Build: configured(persistentvolumeattachdetach.New, attachDetachOptions),
		},
		{
			Name: volumeattacher.Name, Account: volumeattacher.Account,
			About:   "attaches and detaches simulated volumes, as the attacher of a CSI driver does (not one of upstream's)",
			Watches: []string{"volumeattachments", "persistentvolumes", "persistentvolumeclaims", "storageclasses", "csidrivers"},
			Writes:  []string{"volumeattachments", "volumeattachments/status"},
			Docs:    "concepts/storage/volumes/#csi",
			Build:   constructor(volumeattacher.New),
		},
		{
			Name: persistentvolumeexpander.Name, Aliases: []string{"persistentvolume-expander"}, Account: "expand-controller",
			About:   "reports which claims wait for an external controller to expand them",
			Watches: []string{"persistentvolumeclaims", "persistentvolumes"}, Writes: []string{"events"},
			Docs:  "concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
			Build: constructor(persistentvolumeexpander.New),
		},
		{
			Name: ephemeralvolume.Name, Aliases: []string{"ephemeral-volume"}, Account: "ephemeral-volume-controller",
			About:   "creates the claims of the ephemeral volumes of pods",
			Watches: []string{"pods", "persistentvolumeclaims"}, Writes: []string{"persistentvolumeclaims"},
			Docs:    "concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-ephemeralvolume-syncs", What: "pods with ephemeral volumes", In: func(s *Settings) *int32 {
				return &s.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs
			}},
			Build: constructor(ephemeralvolume.New),
		},
	}
}

// storageProtection keeps storage objects that are in use, and warns of wrong uses.
func storageProtection() []Descriptor {
	return []Descriptor{
		{
			Name: pvcprotection.Name, Aliases: []string{"pvc-protection"}, Account: "pvc-protection-controller",
			About:   "keeps claims that are being deleted until no pod uses them",
			Watches: []string{"persistentvolumeclaims", "pods"}, Writes: []string{"persistentvolumeclaims", "persistentvolumeclaims/status"},
			Docs:  "concepts/storage/persistent-volumes/#storage-object-in-use-protection",
			Build: constructor(pvcprotection.New),
		},
		{
			Name: pvprotection.Name, Aliases: []string{"pv-protection"}, Account: "pv-protection-controller",
			About:   "keeps volumes that are being deleted while they are bound",
			Watches: []string{"persistentvolumes"}, Writes: []string{"persistentvolumes"},
			Docs:  "concepts/storage/persistent-volumes/#storage-object-in-use-protection",
			Build: constructor(pvprotection.New),
		},
		{
			Name: vacprotection.Name, Account: "volumeattributesclass-protection-controller",
			About:   "keeps volume attributes classes that are being deleted until no volume and no claim names them",
			Watches: []string{"volumeattributesclasses", "persistentvolumes", "persistentvolumeclaims"}, Writes: []string{"volumeattributesclasses"},
			Docs:  "concepts/storage/volume-attributes-classes/",
			Build: constructor(vacprotection.New),
		},
		{
			Name: selinuxwarning.Name, DisabledByDefault: true, Account: "selinux-warning-controller",
			About:   "warns of pods that use a volume with different SELinux labels",
			Watches: []string{"pods", "persistentvolumeclaims", "persistentvolumes", "csidrivers"}, Writes: []string{"events"},
			Docs:  "tasks/configure-pod-container/security-context/#selinux-warning-controller",
			Build: constructor(selinuxwarning.New),
		},
	}
}

// clusterControllers returns the controllers that provide namespaces and nodes with the objects that their
// pods need.
func clusterControllers() []Descriptor {
	return []Descriptor{
		{
			Name: namespace.Name, Aliases: []string{"namespace"}, Account: "namespace-controller",
			About:   "empties namespaces that are being deleted",
			Watches: []string{"namespaces", "pods"}, Writes: []string{"namespaces/finalize", "namespaces/status", "everything in a namespace"},
			Docs:    "concepts/overview/working-with-objects/namespaces/",
			Workers: 10, Concurrency: Concurrency{Flag: "concurrent-namespace-syncs", What: "namespaces", In: func(s *Settings) *int32 {
				return &s.NamespaceController.ConcurrentNamespaceSyncs
			}},
			Build: constructor(namespace.New),
		},
		{
			Name: serviceaccount.Name, Aliases: []string{"serviceaccount"}, Account: "service-account-controller",
			About:   "gives every namespace its service account default",
			Watches: []string{"namespaces", "serviceaccounts"}, Writes: []string{"serviceaccounts"},
			Docs:  "reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller",
			Build: constructor(serviceaccount.New),
		},
		{
			Name: serviceaccounttoken.Name, Aliases: []string{"serviceaccount-token"}, Account: "tokens-controller", OwnCredentials: true,
			About:   "fills secrets with the tokens of service accounts",
			Watches: []string{"secrets", "serviceaccounts"}, Writes: []string{"secrets", "serviceaccounts"},
			Docs:    "reference/access-authn-authz/service-accounts-admin/#token-controller",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-serviceaccount-token-syncs", What: "secrets of service accounts", In: func(s *Settings) *int32 {
				return &s.SAController.ConcurrentSATokenSyncs
			}},
			Flags: tokenFlags, Build: constructor(serviceaccounttoken.New),
		},
		{
			Name: rootca.Name, Aliases: []string{"root-ca-cert-publisher"}, Account: "root-ca-cert-publisher",
			About:   "gives every namespace the certificate that the apiserver is verified by",
			Watches: []string{"namespaces", "configmaps"}, Writes: []string{"configmaps"},
			Docs:  "reference/access-authn-authz/certificate-signing-requests/",
			Build: constructor(rootca.New),
		},
		{
			Name: admissionpolicystatus.Name, Account: "validatingadmissionpolicy-status-controller",
			About:   "checks the expressions of ValidatingAdmissionPolicies against the schemas of the kinds that they are for",
			Watches: []string{"validatingadmissionpolicies"}, Writes: []string{"validatingadmissionpolicies/status"},
			Docs:  "reference/access-authn-authz/validating-admission-policy/#type-checking",
			Build: constructor(admissionpolicystatus.New),
		},
		{
			Name: clusterroleaggregation.Name, Aliases: []string{"clusterrole-aggregation"}, Account: "clusterrole-aggregation-controller",
			About:   "gives ClusterRoles with an aggregation rule the rules of the roles that it selects",
			Watches: []string{"clusterroles"}, Writes: []string{"clusterroles"},
			Docs:  "reference/access-authn-authz/rbac/#aggregated-clusterroles",
			Build: constructor(clusterroleaggregation.New),
		},
		ttl.Descriptor(),
		{
			Name: nodeipam.Name, Aliases: []string{"nodeipam"}, Account: "node-controller",
			About:   "gives nodes their networks of pod addresses, if it is asked to",
			Watches: []string{"nodes"}, Writes: []string{"nodes"},
			Docs:  "reference/command-line-tools-reference/kube-controller-manager/",
			Flags: nodeIPAMFlags, Build: configured(nodeipam.New, nodeIPAMOptions),
		},
	}
}

// workloadControllers create and delete the pods of workloads.
func workloadControllers() []Descriptor {
	return []Descriptor{
		{
			Name: deployment.Name, Aliases: []string{"deployment"}, Account: "deployment-controller",
			About:   "rolls out Deployments over ReplicaSets",
			Watches: []string{"deployments", "replicasets", "pods"}, Writes: []string{"deployments", "deployments/status", "replicasets"},
			Docs:    "concepts/workloads/controllers/deployment/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-deployment-syncs", What: "Deployments", In: func(s *Settings) *int32 {
				return &s.DeploymentController.ConcurrentDeploymentSyncs
			}},
			Build: constructor(deployment.New),
		},
		{
			Name: replicaset.Name, Aliases: []string{"replicaset"}, Account: "replicaset-controller",
			About:   "keeps the pods of ReplicaSets",
			Watches: []string{"replicasets", "pods"}, Writes: []string{"pods", "replicasets/status"},
			Docs:    "concepts/workloads/controllers/replicaset/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-replicaset-syncs", What: "ReplicaSets", In: func(s *Settings) *int32 {
				return &s.ReplicaSetController.ConcurrentRSSyncs
			}},
			Build: constructor(replicaset.New),
		},
		{
			Name: replicationcontroller.Name, Aliases: []string{"replicationcontroller"}, Account: "replication-controller",
			About:   "keeps the pods of ReplicationControllers",
			Watches: []string{"replicationcontrollers", "pods"}, Writes: []string{"pods", "replicationcontrollers/status"},
			Docs:    "concepts/workloads/controllers/replicationcontroller/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-rc-syncs", What: "ReplicationControllers", In: func(s *Settings) *int32 {
				return &s.ReplicationController.ConcurrentRCSyncs
			}},
			Build: constructor(replicationcontroller.New),
		},
		{
			Name: daemonset.Name, Aliases: []string{"daemonset"}, Account: "daemon-set-controller",
			About:   "keeps a pod on each node for DaemonSets",
			Watches: []string{"daemonsets", "controllerrevisions", "nodes", "pods"}, Writes: []string{"pods", "controllerrevisions", "daemonsets/status"},
			Docs:    "concepts/workloads/controllers/daemonset/",
			Workers: 2, Concurrency: Concurrency{Flag: "concurrent-daemonset-syncs", What: "DaemonSets", In: func(s *Settings) *int32 {
				return &s.DaemonSetController.ConcurrentDaemonSetSyncs
			}},
			Build: constructor(daemonset.New),
		},
		{
			Name: statefulset.Name, Aliases: []string{"statefulset"}, Account: "statefulset-controller",
			About:   "keeps the pods of StatefulSets, in their order, and their claims",
			Watches: []string{"statefulsets", "controllerrevisions", "pods", "persistentvolumeclaims"},
			Writes:  []string{"pods", "persistentvolumeclaims", "controllerrevisions", "statefulsets/status"},
			Docs:    "concepts/workloads/controllers/statefulset/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-statefulset-syncs", What: "StatefulSets", In: func(s *Settings) *int32 {
				return &s.StatefulSetController.ConcurrentStatefulSetSyncs
			}},
			Build: constructor(statefulset.New),
		},
	}
}

// jobControllers run pods to completion, or limit and set the number of pods.
func jobControllers() []Descriptor {
	return []Descriptor{
		job.Descriptor(),
		{
			Name: cronjob.Name, Aliases: []string{"cronjob"}, Account: "cronjob-controller",
			About:   "makes the Jobs of CronJobs",
			Watches: []string{"cronjobs", "jobs"}, Writes: []string{"jobs", "cronjobs/status"},
			Docs:    "concepts/workloads/controllers/cron-jobs/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-cron-job-syncs", What: "CronJobs", In: func(s *Settings) *int32 {
				return &s.CronJobController.ConcurrentCronJobSyncs
			}},
			Build: constructor(cronjob.New),
		},
		{
			Name: ttlafterfinished.Name, Aliases: []string{"ttl-after-finished"}, Account: "ttl-after-finished-controller",
			About:   "deletes Jobs some time after their end",
			Watches: []string{"jobs"}, Writes: []string{"jobs"},
			Docs:    "concepts/workloads/controllers/ttlafterfinished/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-ttl-after-finished-syncs", What: "ended Jobs", In: func(s *Settings) *int32 {
				return &s.TTLAfterFinishedController.ConcurrentTTLSyncs
			}},
			Build: constructor(ttlafterfinished.New),
		},
		{
			Name: podautoscaler.Name, Aliases: []string{"horizontalpodautoscaling"}, Account: "horizontal-pod-autoscaler",
			About:   "keeps the size of what HorizontalPodAutoscalers point at",
			Watches: []string{"horizontalpodautoscalers", "pods"},
			Writes:  []string{"every resource with a scale subresource", "horizontalpodautoscalers/status"},
			Docs:    "tasks/run-application/horizontal-pod-autoscale/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-horizontal-pod-autoscaler-syncs", What: "autoscalers", In: func(s *Settings) *int32 {
				return &s.HPAController.ConcurrentHorizontalPodAutoscalerSyncs
			}},
			Flags: podAutoscalerFlags, Build: configured(podautoscaler.New, podAutoscalerOptions),
		},
		{
			Name: disruption.Name, Aliases: []string{"disruption"}, Account: "disruption-controller",
			About:   "works out how many pods PodDisruptionBudgets let go",
			Watches: []string{"poddisruptionbudgets", "pods", "replicationcontrollers", "replicasets", "deployments", "statefulsets"},
			Writes:  []string{"poddisruptionbudgets/status", "pods/status"},
			Docs:    "concepts/workloads/pods/disruptions/",
			Build:   constructor(disruption.New),
		},
	}
}

// networkControllers publish the endpoints and addresses of Services.
func networkControllers() []Descriptor {
	return []Descriptor{
		{
			Name: endpointslice.Name, Aliases: []string{"endpointslice"}, Account: "endpointslice-controller",
			About:   "writes the EndpointSlices of Services",
			Watches: []string{"services", "pods", "nodes", "endpointslices"}, Writes: []string{"endpointslices"},
			Docs:    "concepts/services-networking/endpoint-slices/",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-service-endpoint-syncs", What: "Services' slices", In: func(s *Settings) *int32 {
				return &s.EndpointSliceController.ConcurrentServiceEndpointSyncs
			}},
			Build: constructor(endpointslice.New),
		},
		{
			Name: endpointslicemirroring.Name, Aliases: []string{"endpointslicemirroring"}, Account: "endpointslicemirroring-controller",
			About:   "copies Endpoints that are written by hand into EndpointSlices",
			Watches: []string{"endpoints", "services", "endpointslices"}, Writes: []string{"endpointslices"},
			Docs:    "concepts/services-networking/service/#mirroring",
			Workers: 5, Concurrency: Concurrency{Flag: "mirroring-concurrent-service-endpoint-syncs", What: "Endpoints", In: func(s *Settings) *int32 {
				return &s.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs
			}},
			Build: constructor(endpointslicemirroring.New),
		},
		{
			Name: endpoints.Name, Aliases: []string{"endpoint"}, Account: "endpoint-controller",
			About:   "writes the Endpoints of Services",
			Watches: []string{"services", "pods", "endpoints"}, Writes: []string{"endpoints"},
			Docs:    "concepts/services-networking/service/#endpoints",
			Workers: 5, Concurrency: Concurrency{Flag: "concurrent-endpoint-syncs", What: "Services", In: func(s *Settings) *int32 {
				return &s.EndpointController.ConcurrentEndpointSyncs
			}},
			Build: constructor(endpoints.New),
		},
		{
			Name: servicecidrs.Name, Account: "service-cidrs-controller",
			About:   "protects ServiceCIDRs whose addresses are in use",
			Watches: []string{"servicecidrs", "ipaddresses"}, Writes: []string{"servicecidrs", "servicecidrs/status"},
			Docs:  "concepts/services-networking/cluster-ip-allocation/",
			Build: constructor(servicecidrs.New),
		},
		{
			Name: serviceloadbalancer.Name, Aliases: []string{"service"}, Account: "service-controller",
			About:   "gives Services of type LoadBalancer simulated addresses",
			Watches: []string{"services", "nodes"}, Writes: []string{"services", "services/status"},
			Docs:    "concepts/services-networking/service/#loadbalancer",
			Workers: 1, Concurrency: Concurrency{Flag: "concurrent-service-syncs", What: "load balancers", In: func(s *Settings) *int32 {
				return &s.ServiceController.ConcurrentServiceSyncs
			}},
			Build: constructor(serviceloadbalancer.New),
		},
		{
			Name: simulatedingress.Name, Account: simulatedingress.Account,
			About:   "serves the Ingresses of IngressClasses whose controller is minikcm.dev/simulated (not one of upstream's)",
			Watches: []string{"ingressclasses", "services", "ingresses"}, Writes: []string{"services", "ingresses/status"},
			Docs:  "concepts/services-networking/ingress-controllers/",
			Build: constructor(simulatedingress.New),
		},
	}
}

// bootstrapControllers returns the controllers of the objects that machines need to join with a token.
func bootstrapControllers() []Descriptor {
	const docs = "reference/access-authn-authz/bootstrap-tokens/"
	return []Descriptor{
		{
			Name: bootstrapsigner.Name, Aliases: []string{"bootstrapsigner"}, DisabledByDefault: true, Account: "bootstrap-signer",
			About:   "signs the ConfigMap kube-public/cluster-info with bootstrap tokens",
			Watches: []string{"configmaps", "secrets"}, Writes: []string{"configmaps"},
			Docs: docs, Build: constructor(bootstrapsigner.New),
		},
		{
			Name: tokencleaner.Name, Aliases: []string{"tokencleaner"}, DisabledByDefault: true, Account: "token-cleaner",
			About:   "deletes expired bootstrap tokens",
			Watches: []string{"secrets"}, Writes: []string{"secrets"},
			Docs: docs, Build: constructor(tokencleaner.New),
		},
	}
}

// cleaningControllers remove objects that are no longer needed and pods that no longer
// work.
func cleaningControllers() []Descriptor {
	return []Descriptor{
		{
			Name: legacyserviceaccounttokencleaner.Name, Aliases: []string{"legacy-service-account-token-cleaner"}, Account: "legacy-service-account-token-cleaner",
			About:   "deletes generated tokens of service accounts that have not been used for a year",
			Watches: []string{"secrets", "serviceaccounts", "pods"}, Writes: []string{"secrets"},
			Docs:  "reference/access-authn-authz/service-accounts-admin/#legacy-serviceaccount-token-cleaner",
			Flags: tokenCleanerFlags, Build: configured(legacyserviceaccounttokencleaner.New, tokenCleanerOptions),
		},
		{
			Name: garbagecollector.Name, Aliases: []string{"garbagecollector"}, Account: "generic-garbage-collector",
			About:   "deletes objects whose owners are gone",
			Watches: []string{"every resource that can be deleted"}, Writes: []string{"every resource that can be deleted"},
			Docs:    "concepts/architecture/garbage-collection/",
			Workers: 20, Concurrency: Concurrency{Flag: "concurrent-gc-syncs", What: "objects", In: func(s *Settings) *int32 {
				return &s.GarbageCollectorController.ConcurrentGCSyncs
			}},
			Build: constructor(garbagecollector.New),
		},
		{
			Name: nodelifecycle.Name, Aliases: []string{"nodelifecycle"}, Account: "node-controller",
			About:   "taints nodes whose heartbeats stop",
			Watches: []string{"nodes", "leases", "pods"}, Writes: []string{"nodes", "nodes/status", "pods/status"},
			Docs:  "concepts/architecture/nodes/#node-controller",
			Flags: nodeLifecycleFlags, Build: configured(nodelifecycle.New, nodeLifecycleOptions),
		},
		{
			Name: tainteviction.Name, Account: "node-controller",
			About:   "evicts pods from nodes whose taints they do not tolerate",
			Watches: []string{"nodes", "pods"}, Writes: []string{"pods", "pods/status"},
			Docs:  "concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions",
			Build: constructor(tainteviction.New),
		},
		{
			Name: podgc.Name, Aliases: []string{"podgc"}, Account: "pod-garbage-collector",
			About:   "deletes pods that have ended or whose node is gone",
			Watches: []string{"pods", "nodes"}, Writes: []string{"pods", "pods/status"},
			Docs:  "concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection",
			Flags: podGCFlags, Build: configured(podgc.New, podGCOptions),
		},
		{
			Name: resourcequota.Name, Aliases: []string{"resourcequota"}, Account: "resourcequota-controller",
			About:   "counts what a namespace uses of its quotas",
			Watches: []string{"resourcequotas", "pods", "services", "persistentvolumeclaims", "resourceclaims", "deviceclasses", "what quotas count"}, Writes: []string{"resourcequotas/status"},
			Docs:    "concepts/policy/resource-quotas/",
			Workers: resourcequota.Workers, Concurrency: Concurrency{Flag: "concurrent-resource-quota-syncs", What: "quotas", In: func(s *Settings) *int32 {
				return &s.ResourceQuotaController.ConcurrentResourceQuotaSyncs
			}},
			Build: constructor(resourcequota.New),
		},
		{
			Name: storageversionmigrator.Name, Aliases: []string{"svm"}, Account: "storage-version-migrator-controller",
			About:   "writes the objects of a resource again, so that they are stored in its current version",
			Watches: []string{"storageversionmigrations"},
			Writes:  []string{"storageversionmigrations/status", "customresourcedefinitions/status", "every resource that can be patched"},
			Docs:    "tasks/manage-kubernetes-objects/storage-version-migration/",
			Build:   constructor(storageversionmigrator.New),
		},
		{
			Name: storageversiongarbagecollector.Name, Aliases: []string{"storage-version-gc"}, Gate: featuregates.StorageVersionAPI,
			Account: "storage-version-garbage-collector",
			About:   "removes the entries of API servers that are gone from StorageVersions",
			Watches: []string{"storageversions", "leases"}, Writes: []string{"storageversions", "storageversions/status"},
			Docs:  "concepts/architecture/leases/#api-server-identity",
			Build: constructor(storageversiongarbagecollector.New),
		},
	}
}
