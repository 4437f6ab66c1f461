package policy

// storageVersionCollector returns the role that the feature gate StorageVersionAPI adds.
func storageVersionCollector() clusterRole {
	const group = "internal.apiserver.k8s.io"
	return clusterRole{name: "storage-version-garbage-collector", rules: []rule{
		{verbs: "get list watch", groups: "coordination.k8s.io", resources: "leases"},
		{verbs: "delete get list patch update watch", groups: group, resources: "storageversions"},
		{verbs: "get patch update", groups: group, resources: "storageversions/status"},
	}}
}
