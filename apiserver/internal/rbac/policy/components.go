package policy

import "slices"

// componentRoles returns the roles of the components of a cluster, apart from the controllers.
func componentRoles() []clusterRole {
	return slices.Concat(controlPlaneRoles(), nodeRoles(), certificateRoles())
}

// controlPlaneRoles returns the roles of the scheduler, the controller manager and add-ons.
func controlPlaneRoles() []clusterRole {
	return []clusterRole{
		{name: "system:auth-delegator", rules: []rule{
			{verbs: "create", groups: "authentication.k8s.io", resources: "tokenreviews"},
			{verbs: "create", groups: "authorization.k8s.io", resources: "subjectaccessreviews"},
		}},
		{name: "system:heapster", rules: []rule{
			{verbs: "get list watch", groups: "core", resources: "events namespaces nodes pods"},
			{verbs: "get list watch", groups: "extensions", resources: "deployments"},
		}},
		{name: "system:kube-aggregator", rules: []rule{
			{verbs: "get list watch", groups: "core", resources: "endpoints services"},
		}},
		{name: "system:kube-controller-manager", rules: []rule{
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			{verbs: "create", groups: "coordination.k8s.io", resources: "leases"},
			{verbs: "get update", groups: "coordination.k8s.io", resources: "leases", names: "kube-controller-manager"},
			{verbs: "create", groups: "core", resources: "secrets serviceaccounts"},
			{verbs: "delete", groups: "core", resources: "secrets"},
			{verbs: "get", groups: "core", resources: "configmaps namespaces secrets serviceaccounts"},
			{verbs: "update", groups: "core", resources: "secrets serviceaccounts"},
			{verbs: "create", groups: "authentication.k8s.io", resources: "tokenreviews"},
			{verbs: "create", groups: "authorization.k8s.io", resources: "subjectaccessreviews"},
			{verbs: "list watch", groups: "*", resources: "*"},
			{verbs: "create", groups: "core", resources: "serviceaccounts/token"},
		}},
		{name: "system:kube-dns", rules: []rule{
			{verbs: "list watch", groups: "core", resources: "endpoints services"},
		}},
		{name: "system:kube-scheduler", rules: []rule{
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			{verbs: "create", groups: "coordination.k8s.io", resources: "leases"},
			{verbs: "get list update watch", groups: "coordination.k8s.io", resources: "leases", names: "kube-scheduler"},
			{verbs: "create delete deletecollection get list patch update watch", groups: "coordination.k8s.io", resources: "leasecandidates"},
			{verbs: "get list watch", groups: "core", resources: "nodes"},
			{verbs: "delete get list watch", groups: "core", resources: "pods"},
			{verbs: "create", groups: "core", resources: "bindings pods/binding"},
			{verbs: "patch update", groups: "core", resources: "pods/status"},
			{verbs: "get list watch", groups: "core", resources: "replicationcontrollers services"},
			{verbs: "get list watch", groups: "apps extensions", resources: "replicasets"},
			{verbs: "get list watch", groups: "apps", resources: "statefulsets"},
			{verbs: "get list watch", groups: "policy", resources: "poddisruptionbudgets"},
			{verbs: "get list watch", groups: "core", resources: "persistentvolumeclaims persistentvolumes"},
			{verbs: "create", groups: "authentication.k8s.io", resources: "tokenreviews"},
			{verbs: "create", groups: "authorization.k8s.io", resources: "subjectaccessreviews"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "csinodes"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "volumeattachments"},
			{verbs: "get list watch", groups: "core", resources: "namespaces"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "csidrivers"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "csistoragecapacities"},
			{verbs: "get list watch", groups: "resource.k8s.io", resources: "deviceclasses"},
			{verbs: "get list patch update watch", groups: "resource.k8s.io", resources: "resourceclaims"},
			{verbs: "get list patch update watch", groups: "resource.k8s.io", resources: "resourceclaims/status"},
			{verbs: "update", groups: "core", resources: "pods/finalizers"},
			{verbs: "get list watch", groups: "resource.k8s.io", resources: "resourceslices"},
			{verbs: "create delete", groups: "resource.k8s.io", resources: "resourceclaims"},
			{verbs: "get list watch", groups: "resource.k8s.io", resources: "devicetaintrules"},
			{verbs: "patch update", groups: "resource.k8s.io", resources: "resourceclaims/binding"},
		}},
		{name: "system:persistent-volume-provisioner", rules: []rule{
			{verbs: "create delete get list watch", groups: "core", resources: "persistentvolumes"},
			{verbs: "get list update watch", groups: "core", resources: "persistentvolumeclaims"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "storageclasses"},
			{verbs: "watch", groups: "core", resources: "events"},
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
		}},
		{name: "system:volume-scheduler", rules: []rule{
			{verbs: "get list patch update watch", groups: "core", resources: "persistentvolumes"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "storageclasses"},
			{verbs: "get list patch update watch", groups: "core", resources: "persistentvolumeclaims"},
		}},
	}
}

// nodeRoles returns the roles of kubelets and kube-proxies, and of the clients of kubelets.
func nodeRoles() []clusterRole {
	return []clusterRole{
		{name: "system:kubelet-api-admin", rules: []rule{
			{verbs: "get list watch", groups: "core", resources: "nodes"},
			{verbs: "proxy", groups: "core", resources: "nodes"},
			{verbs: "*", groups: "core", resources: "nodes/log nodes/metrics nodes/proxy nodes/stats"},
			{verbs: "*", groups: "core", resources: "nodes/configz nodes/healthz nodes/pods"},
		}},
		{name: "system:node", rules: []rule{
			{verbs: "create", groups: "authentication.k8s.io", resources: "tokenreviews"},
			{verbs: "create", groups: "authorization.k8s.io", resources: "localsubjectaccessreviews subjectaccessreviews"},
			{verbs: "get list watch", groups: "core", resources: "services"},
			{verbs: "create get list watch", groups: "core", resources: "nodes"},
			{verbs: "patch update", groups: "core", resources: "nodes/status"},
			{verbs: "patch update", groups: "core", resources: "nodes"},
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			{verbs: "get list watch", groups: "core", resources: "pods"},
			{verbs: "create delete", groups: "core", resources: "pods"},
			{verbs: "patch update", groups: "core", resources: "pods/status"},
			{verbs: "create", groups: "core", resources: "pods/eviction"},
			{verbs: "get list watch", groups: "core", resources: "configmaps secrets"},
			{verbs: "get", groups: "core", resources: "persistentvolumeclaims persistentvolumes"},
			{verbs: "get", groups: "core", resources: "endpoints"},
			{verbs: "create get list watch", groups: "certificates.k8s.io", resources: "certificatesigningrequests"},
			{verbs: "create delete get patch update", groups: "coordination.k8s.io", resources: "leases"},
			{verbs: "get", groups: "storage.k8s.io", resources: "volumeattachments"},
			{verbs: "create", groups: "core", resources: "serviceaccounts/token"},
			{verbs: "get patch update", groups: "core", resources: "persistentvolumeclaims/status"},
			{verbs: "get list watch", groups: "storage.k8s.io", resources: "csidrivers"},
			{verbs: "create delete get patch update", groups: "storage.k8s.io", resources: "csinodes"},
			{verbs: "get list watch", groups: "node.k8s.io", resources: "runtimeclasses"},
			{verbs: "get", groups: "resource.k8s.io", resources: "resourceclaims"},
			{verbs: "deletecollection", groups: "resource.k8s.io", resources: "resourceslices"},
			{verbs: "get list watch", groups: "certificates.k8s.io", resources: "clustertrustbundles"},
			{verbs: "get", groups: "core", resources: "serviceaccounts"},
			{verbs: "create get list watch", groups: "certificates.k8s.io", resources: "podcertificaterequests"},
		}},
		{name: "system:node-bootstrapper", rules: []rule{
			{verbs: "create get list watch", groups: "certificates.k8s.io", resources: "certificatesigningrequests"},
		}},
		{name: "system:node-problem-detector", rules: []rule{
			{verbs: "get", groups: "core", resources: "nodes"},
			{verbs: "patch", groups: "core", resources: "nodes/status"},
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
		}},
		{name: "system:node-proxier", rules: []rule{
			{verbs: "list watch", groups: "core", resources: "endpoints services"},
			{verbs: "get list watch", groups: "core", resources: "nodes"},
			{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			{verbs: "list watch", groups: "networking.k8s.io", resources: "servicecidrs"},
			{verbs: "list watch", groups: "discovery.k8s.io", resources: "endpointslices"},
		}},
	}
}

// certificateRoles returns the roles of the approval and signing of certificates, and of trust in them.
func certificateRoles() []clusterRole {
	return []clusterRole{
		{name: "system:cluster-trust-bundle-discovery", rules: []rule{
			{verbs: "get list watch", groups: "certificates.k8s.io", resources: "clustertrustbundles"},
		}},
		{name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient", rules: []rule{
			{verbs: "create", groups: "certificates.k8s.io", resources: "certificatesigningrequests/nodeclient"},
		}},
		{name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", rules: []rule{
			{verbs: "create", groups: "certificates.k8s.io", resources: "certificatesigningrequests/selfnodeclient"},
		}},
		{name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", rules: []rule{
			{verbs: "approve", groups: "certificates.k8s.io", resources: "signers", names: "kubernetes.io/kube-apiserver-client-kubelet"},
		}},
		{name: "system:certificates.k8s.io:kubelet-serving-approver", rules: []rule{
			{verbs: "approve", groups: "certificates.k8s.io", resources: "signers", names: "kubernetes.io/kubelet-serving"},
		}},
		{name: "system:certificates.k8s.io:kube-apiserver-client-approver", rules: []rule{
			{verbs: "approve", groups: "certificates.k8s.io", resources: "signers", names: "kubernetes.io/kube-apiserver-client"},
		}},
		{name: "system:certificates.k8s.io:legacy-unknown-approver", rules: []rule{
			{verbs: "approve", groups: "certificates.k8s.io", resources: "signers", names: "kubernetes.io/legacy-unknown"},
		}},
	}
}
