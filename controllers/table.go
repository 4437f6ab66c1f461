package controllers

import (
	"minikcm.dev/minikcm/controllers/internal/admissionpolicystatus"
	"minikcm.dev/minikcm/controllers/internal/bootstrapsigner"
	"minikcm.dev/minikcm/controllers/internal/certificates/approving"
	"minikcm.dev/minikcm/controllers/internal/certificates/cleaner"
	"minikcm.dev/minikcm/controllers/internal/certificates/signing"
	"minikcm.dev/minikcm/controllers/internal/cloudnode"
	"minikcm.dev/minikcm/controllers/internal/cloudnodelifecycle"
	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation"
	"minikcm.dev/minikcm/controllers/internal/controller"
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
	"minikcm.dev/minikcm/controllers/internal/noderoute"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeexpander"
	"minikcm.dev/minikcm/controllers/internal/podautoscaler"
	"minikcm.dev/minikcm/controllers/internal/podcertificaterequestcleaner"
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
	"minikcm.dev/minikcm/controllers/internal/trustbundlepublisher"
	"minikcm.dev/minikcm/controllers/internal/ttl"
	"minikcm.dev/minikcm/controllers/internal/ttlafterfinished"
	"minikcm.dev/minikcm/controllers/internal/vacprotection"
	"minikcm.dev/minikcm/controllers/internal/volumeattacher"
	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner"
)

// Descriptor is one controller's row in the table.
type Descriptor = controller.Descriptor

// Settings are the options of all controllers, under kube-controller-manager's names. A
// zero field means upstream's default.
type Settings = controller.Settings

// Descriptors returns the table, in the order in which controllers are built and started.
// docs/controllers.md is generated from it.
func Descriptors() []Descriptor {
	return []Descriptor{
		// What namespaces and nodes need.
		namespace.Descriptor(), serviceaccount.Descriptor(), serviceaccounttoken.Descriptor(), rootca.Descriptor(),
		admissionpolicystatus.Descriptor(), clusterroleaggregation.Descriptor(), ttl.Descriptor(), nodeipam.Descriptor(),
		// The pods of workloads.
		deployment.Descriptor(), replicaset.Descriptor(), replicationcontroller.Descriptor(), daemonset.Descriptor(),
		statefulset.Descriptor(),
		// Pods that end, and the number of pods.
		job.Descriptor(), cronjob.Descriptor(), ttlafterfinished.Descriptor(), podautoscaler.Descriptor(),
		disruption.Descriptor(),
		// The endpoints and addresses of Services.
		endpointslice.Descriptor(), endpointslicemirroring.Descriptor(), endpoints.Descriptor(), servicecidrs.Descriptor(),
		serviceloadbalancer.Descriptor(), simulatedingress.Descriptor(),
		// Certificates.
		signing.Descriptor(), approving.Descriptor(), cleaner.Descriptor(), podcertificaterequestcleaner.Descriptor(),
		trustbundlepublisher.Descriptor(),
		// What machines need to join with a token.
		bootstrapsigner.Descriptor(), tokencleaner.Descriptor(),
		// Objects that are no longer needed, and pods that no longer work.
		legacyserviceaccounttokencleaner.Descriptor(), garbagecollector.Descriptor(), nodelifecycle.Descriptor(), tainteviction.Descriptor(),
		podgc.Descriptor(), resourcequota.Descriptor(), storageversionmigrator.Descriptor(), storageversiongarbagecollector.Descriptor(),
		// The state of the cloud.
		cloudnode.Descriptor(), cloudnodelifecycle.Descriptor(), noderoute.Descriptor(),
		// Volumes.
		persistentvolumebinder.Descriptor(), volumeprovisioner.Descriptor(), persistentvolumeattachdetach.Descriptor(), volumeattacher.Descriptor(),
		persistentvolumeexpander.Descriptor(), ephemeralvolume.Descriptor(),
		// The protection of storage objects in use.
		pvcprotection.Descriptor(), pvprotection.Descriptor(), vacprotection.Descriptor(), selinuxwarning.Descriptor(),
		// Dynamic resource allocation.
		devicedriver.Descriptor(), devicetainteviction.Descriptor(), resourceclaim.Descriptor(), resourcepoolstatusrequest.Descriptor(),
		// Gang scheduling.
		podgroupprotection.Descriptor(),
	}
}

// Defaults returns settings in which every field that has a flag here is upstream's
// default.
func Defaults() *Settings {
	s := &Settings{}
	for _, d := range Descriptors() {
		d.SetDefaults(s)
	}
	return s
}
