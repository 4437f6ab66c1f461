package policy

// groupScheduling returns the policy that the feature gate GenericWorkload adds.
func groupScheduling() addition {
	const group = "scheduling.k8s.io"
	return addition{
		rules: map[string][]rule{
			"system:aggregate-to-edit": {
				{verbs: "create delete deletecollection patch update", groups: group, resources: "podgroups workloads"},
			},
			"system:aggregate-to-view": {
				{verbs: "get list watch", groups: group, resources: "podgroups podgroups/status workloads"},
			},
			"system:kube-scheduler": {
				{verbs: "get list watch", groups: group, resources: "podgroups"},
				{verbs: "patch update", groups: group, resources: "podgroups/status"},
			},
		},
		controllers: []clusterRole{
			{name: "podgroup-protection-controller", rules: []rule{
				{verbs: "get list update watch", groups: group, resources: "podgroups"},
				{verbs: "get list watch", groups: "core", resources: "pods"},
			}},
		},
	}
}
