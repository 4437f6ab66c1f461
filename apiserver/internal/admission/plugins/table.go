package plugins

import "minikcm.dev/minikcm/apiserver/internal/admission"

// Plugin is a row of the table of admission plugins.
type Plugin struct {
	Name string
	// Default reports whether the plugin runs unless it is disabled.
	Default bool
	// Does says what the plugin does.
	Does string
	// on are the operations that upstream's plugin handles, which its metrics count: C create,
	// U update, D delete, X connect; empty: all.
	on string

	// build returns the plugin with its configuration, which may be empty; nil: there is
	// nothing to run.
	build func(h *Host, config []byte) (any, error)
}

// plain returns the build function of a plugin without a configuration.
func plain(build func(h *Host) any) func(*Host, []byte) (any, error) {
	return func(h *Host, _ []byte) (any, error) { return build(h), nil }
}

// always returns the build function of a plugin that needs nothing.
func always(plugin any) func(*Host, []byte) (any, error) {
	return func(*Host, []byte) (any, error) { return plugin, nil }
}

// Table returns the plugins of kube-apiserver v1.37 in its order: first all
// mutate in this order, then all check in this order.
func Table() []Plugin {
	return append(builtInPlugins(), lastPlugins()...)
}

func builtInPlugins() []Plugin {
	return []Plugin{
		{Name: "AlwaysAdmit", Does: "does nothing (deprecated)"},
		{Name: "NamespaceAutoProvision", on: "C", Does: "creates the namespace of a new object if it does not exist", build: plain((*Host).newAutoProvision)},
		{Name: "NamespaceLifecycle", Default: true, on: "CUD", Does: "rejects new objects in namespaces that do not exist or are being deleted, and the deletion of the namespaces that every cluster has", build: plain((*Host).newNamespaceLifecycle)},
		{Name: "NamespaceExists", on: "CUD", Does: "rejects all writes in namespaces that do not exist", build: plain(func(h *Host) any { return admission.NamespaceExists{Get: h.namespace} })},
		{Name: "LimitPodHardAntiAffinityTopology", on: "CU", Does: "rejects pods whose required anti-affinity has another topology key than `kubernetes.io/hostname`", build: always(admission.LimitPodHardAntiAffinityTopology{})},
		{Name: "LimitRanger", Default: true, on: "CU", Does: "applies the defaults and limits of LimitRanges", build: plain((*Host).newLimitRanger)},
		{Name: "ServiceAccount", Default: true, on: "CU", Does: "gives pods a service account and the volume with its credentials", build: plain((*Host).newServiceAccount)},
		{Name: "NodeRestriction", Default: true, on: "CUD", Does: "limits what kubelets may write to their own node and its pods (kubeadm enables it, kube-apiserver does not)", build: plain(func(h *Host) any { return h.NodeRestriction })},
		{Name: "TaintNodesByCondition", Default: true, on: "C", Does: "gives new nodes the taint `node.kubernetes.io/not-ready`", build: always(admission.TaintNodesByCondition{})},
		{Name: "AlwaysPullImages", on: "CU", Does: "sets the pull policy of all images of pods to Always", build: always(admission.AlwaysPullImages{})},
		{Name: "ImagePolicyWebhook", on: "CU", Does: "asks a webhook about the images of pods (needs a configuration)", build: (*Host).newImagePolicy},
		{Name: "PodSecurity", Default: true, on: "CU", Does: "applies the Pod Security Standards that the labels of a namespace name (configurable)", build: (*Host).newPodSecurity},
		{Name: "PodNodeSelector", on: "C", Does: "adds the node selector in a namespace's annotation to its pods (configurable)", build: (*Host).newPodNodeSelector},
		{Name: "Priority", Default: true, on: "CUD", Does: "sets the priority of pods and PodGroups from their PriorityClass", build: plain((*Host).newPriority)},
		{Name: "DefaultTolerationSeconds", Default: true, on: "CU", Does: "lets pods stay for 5 minutes on a node that is not ready or unreachable", build: always(admission.DefaultTolerationSeconds{Seconds: tolerationSeconds})},
		{Name: "PodTolerationRestriction", on: "CU", Does: "adds the default tolerations in a namespace's annotation to its pods, and limits the tolerations of pods (configurable)", build: (*Host).newPodTolerations},
		{Name: "EventRateLimit", on: "CU", Does: "limits the writes of Events (needs a configuration)", build: (*Host).newEventRateLimit},
		{Name: "ExtendedResourceToleration", on: "CU", Does: "lets pods that request extended resources tolerate taints with their names", build: always(admission.ExtendedResourceToleration{})},
		{Name: "DefaultStorageClass", Default: true, on: "C", Does: "gives claims without a StorageClass the default one", build: plain((*Host).newDefaultStorageClass)},
		{Name: "StorageObjectInUseProtection", Default: true, on: "C", Does: "protects volumes, claims and volume attributes classes in use with finalizers", build: always(admission.StorageObjectInUseProtection{})},
		{Name: "PodGroupProtection", Default: true, on: "C", Does: "protects PodGroups, which the API only has with the feature gate GenericWorkload, with a finalizer", build: always(admission.PodGroupProtection{})},
		{Name: "OwnerReferencesPermissionEnforcement", on: "CU", Does: "requires permissions to change the owners of objects", build: plain((*Host).newOwnerReferences)},
		{Name: "PersistentVolumeClaimResize", Default: true, on: "U", Does: "rejects larger claims unless their StorageClass allows expansion", build: plain((*Host).newClaimResize)},
		{Name: "RuntimeClass", Default: true, on: "C", Does: "sets the overhead and the scheduling constraints of pods from their RuntimeClass", build: plain((*Host).newRuntimeClass)},
		{Name: "CertificateApproval", Default: true, on: "U", Does: "requires a permission for the signer to approve a certificate request", build: plain(func(h *Host) any { return admission.CertificateApproval{Authorizer: h.Authorizer} })},
		{Name: "CertificateSigning", Default: true, on: "U", Does: "requires a permission for the signer to sign a certificate request", build: plain(func(h *Host) any { return admission.CertificateSigning{Authorizer: h.Authorizer} })},
		{Name: "ClusterTrustBundleAttest", Default: true, on: "CU", Does: "requires a permission for the signer to write a trust bundle", build: plain(func(h *Host) any { return admission.ClusterTrustBundleAttest{Authorizer: h.Authorizer} })},
		{Name: "CertificateSubjectRestriction", Default: true, on: "C", Does: "rejects requests for client certificates of the group system:masters", build: always(admission.CertificateSubjectRestriction{})},
		{Name: "DefaultIngressClass", Default: true, on: "C", Does: "gives Ingresses without a class the default one", build: plain((*Host).newDefaultIngressClass)},
		{Name: "DenyServiceExternalIPs", on: "CU", Does: "rejects new external IPs of Services", build: always(admission.DenyServiceExternalIPs{})},
		{Name: "PodTopologyLabels", Default: true, on: "C", Does: "copies the labels for zone and region from a node to its pods", build: plain((*Host).newTopologyLabels)},
		{Name: "NodeDeclaredFeatureValidator", Default: true, on: "CU", Does: "rejects updates of pods that need features that their node does not declare", build: (*Host).newDeclaredFeatures},
		{Name: "PodResizeValidator", Default: true, on: "U", Does: "rejects a resize of a pod beyond the capacity of its node", build: plain((*Host).newPodResize)},
	}
}

// lastPlugins returns the plugins that come after all others: they see, count or reject the
// results of the others.
func lastPlugins() []Plugin {
	return []Plugin{
		{Name: "MutatingAdmissionPolicy", Default: true, on: "CUX", Does: "applies MutatingAdmissionPolicies (configurable)", build: (*Host).newMutatingPolicies},
		{Name: "MutatingAdmissionWebhook", Default: true, Does: "calls mutating webhooks (configurable)", build: (*Host).newMutatingWebhooks},
		{Name: "ValidatingAdmissionPolicy", Default: true, Does: "applies ValidatingAdmissionPolicies (configurable)", build: (*Host).newValidatingPolicies},
		{Name: "ValidatingAdmissionWebhook", Default: true, Does: "calls validating webhooks (configurable)", build: (*Host).newValidatingWebhooks},
		{Name: "ResourceQuota", Default: true, on: "CU", Does: "rejects what exceeds a ResourceQuota", build: plain(func(h *Host) any { return h.newQuota() })},
		{Name: "AlwaysDeny", Does: "rejects every write, also those of controllers and nodes (deprecated)", build: always(admission.AlwaysDeny{})},
	}
}
