package policy

// poolStatusController returns the role that the feature gate DRAResourcePoolStatus adds.
func poolStatusController() clusterRole {
	const group = "resource.k8s.io"
	return clusterRole{name: "resourcepoolstatusrequest-controller", rules: []rule{
		{verbs: "delete get list watch", groups: group, resources: "resourcepoolstatusrequests"},
		{verbs: "patch update", groups: group, resources: "resourcepoolstatusrequests/status"},
		{verbs: "get list watch", groups: group, resources: "resourceslices"},
		{verbs: "get list watch", groups: group, resources: "resourceclaims"},
		{verbs: "get list watch", groups: group, resources: "devicetaintrules"},
		{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
	}}
}
