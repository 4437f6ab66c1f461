package controllers

import (
	"slices"
	"testing"
)

// upstreamNames are all controllers of kube-controller-manager with their aliases, as its
// --help lists them, and cloud-node-controller, which a cloud-controller-manager has in addition.
func upstreamNames() map[string][]string {
	return map[string][]string{
		"bootstrap-signer-controller":                                    {"bootstrapsigner"},
		"certificatesigningrequest-approving-controller":                 {"csrapproving"},
		"certificatesigningrequest-cleaner-controller":                   {"csrcleaner"},
		"certificatesigningrequest-signing-controller":                   {"csrsigning"},
		"cloud-node-controller":                                          {"cloud-node"},
		"cloud-node-lifecycle-controller":                                {"cloud-node-lifecycle"},
		"clusterrole-aggregation-controller":                             {"clusterrole-aggregation"},
		"cronjob-controller":                                             {"cronjob"},
		"daemonset-controller":                                           {"daemonset"},
		"deployment-controller":                                          {"deployment"},
		"device-taint-eviction-controller":                               nil,
		"disruption-controller":                                          {"disruption"},
		"endpoints-controller":                                           {"endpoint"},
		"endpointslice-controller":                                       {"endpointslice"},
		"endpointslice-mirroring-controller":                             {"endpointslicemirroring"},
		"ephemeral-volume-controller":                                    {"ephemeral-volume"},
		"garbage-collector-controller":                                   {"garbagecollector"},
		"horizontal-pod-autoscaler-controller":                           {"horizontalpodautoscaling"},
		"job-controller":                                                 {"job"},
		"kube-apiserver-serving-clustertrustbundle-publisher-controller": nil,
		"legacy-serviceaccount-token-cleaner-controller":                 {"legacy-service-account-token-cleaner"},
		"namespace-controller":                                           {"namespace"},
		"node-ipam-controller":                                           {"nodeipam"},
		"node-lifecycle-controller":                                      {"nodelifecycle"},
		"node-route-controller":                                          {"route"},
		"persistentvolume-attach-detach-controller":                      {"attachdetach"},
		"persistentvolume-binder-controller":                             {"persistentvolume-binder"},
		"persistentvolume-expander-controller":                           {"persistentvolume-expander"},
		"persistentvolume-protection-controller":                         {"pv-protection"},
		"persistentvolumeclaim-protection-controller":                    {"pvc-protection"},
		"pod-garbage-collector-controller":                               {"podgc"},
		"podcertificaterequest-cleaner-controller":                       nil,
		"podgroup-protection-controller":                                 nil,
		"replicaset-controller":                                          {"replicaset"},
		"replicationcontroller-controller":                               {"replicationcontroller"},
		"resourceclaim-controller":                                       {"resource-claim-controller"},
		"resourcepoolstatusrequest-controller":                           nil,
		"resourcequota-controller":                                       {"resourcequota"},
		"root-ca-certificate-publisher-controller":                       {"root-ca-cert-publisher"},
		"selinux-warning-controller":                                     nil,
		"service-cidr-controller":                                        nil,
		"service-lb-controller":                                          {"service"},
		"serviceaccount-controller":                                      {"serviceaccount"},
		"serviceaccount-token-controller":                                {"serviceaccount-token"},
		"statefulset-controller":                                         {"statefulset"},
		"storage-version-migrator-controller":                            {"svm"},
		"storageversion-garbage-collector-controller":                    {"storage-version-gc"},
		"taint-eviction-controller":                                      nil,
		"token-cleaner-controller":                                       {"tokencleaner"},
		"ttl-after-finished-controller":                                  {"ttl-after-finished"},
		"ttl-controller":                                                 {"ttl"},
		"validatingadmissionpolicy-status-controller":                    nil,
		"volumeattributesclass-protection-controller":                    nil,
	}
}

// TestNothingIsMissing checks that each controller of upstream is in the table.
func TestNothingIsMissing(t *testing.T) {
	for name := range upstreamNames() {
		if !slices.Contains(Names(), name) {
			t.Errorf("%s is missing", name)
		}
	}
}
