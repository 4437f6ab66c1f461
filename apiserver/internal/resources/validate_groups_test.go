package resources

var groupCases = []validateCase{
	{"scheduling.k8s.io/v1beta1/PodGroup", "minimal", `spec: {schedulingPolicy: {basic: {}}}`, nil},
	{"scheduling.k8s.io/v1beta1/PodGroup", "empty", `spec: {}`, []string{
		"spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
	}},
	{"scheduling.k8s.io/v1beta1/PodGroup", "wrong", `spec: {workloadRef: {templateName: A}, schedulingPolicy: {basic: {}, gang: {}}, disruptionMode: {}, priorityClassName: A, priority: 1000000001}`, []string{
		"spec.workloadRef.workloadName: Required value",
		`spec.workloadRef.templateName: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		"spec.schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`",
		"spec.schedulingPolicy.gang.minCount: Required value",
		"spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`",
		`spec.priorityClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		"spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
	}},
	{"scheduling.k8s.io/v1beta1/PodGroup", "negative", `spec: {schedulingPolicy: {gang: {minCount: -1}}}`, []string{
		"spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
	}},
	{"scheduling.k8s.io/v1beta1/Workload", "minimal", `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}]}`, nil},
	{"scheduling.k8s.io/v1beta1/Workload", "empty", `spec: {controllerRef: {}}`, []string{
		"spec: Invalid value: \"\": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`",
		"spec.controllerRef.kind: Required value",
		"spec.controllerRef.name: Required value",
	}},
	{"scheduling.k8s.io/v1beta1/Workload", "wrong", `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}, priority: 1}, {name: a, schedulingPolicy: {}, disruptionMode: {all: {}, single: {}}}]}`, []string{
		"spec: Invalid value: null: detected multiple priority configurations",
		`spec.podGroupTemplates[1]: Duplicate value: {"name":"a","schedulingPolicy":{},"schedulingConstraints":null,"disruptionMode":{"single":{},"all":{}}}`,
		"spec.podGroupTemplates[1].schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
		"spec.podGroupTemplates[1].disruptionMode: Invalid value: \"{single, all}\": must specify exactly one of: `single`, `all`",
	}},
	{"scheduling.k8s.io/v1beta1/Workload", "many", `spec: {podGroupTemplates: [{}, {}, {}, {}, {}, {}, {}, {}, {}]}`, []string{
		"spec.podGroupTemplates: Too many: 9: must have at most 8 items",
	}},
	{"/v1/Pod", "no group", `spec: {containers: [{name: web, image: nginx}], schedulingGroup: {}}`, []string{
		"spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`",
	}},
	{"/v1/Pod", "group", `spec: {containers: [{name: web, image: nginx}], schedulingGroup: {podGroupName: g.1}}`, nil},
}

var groupUpdateCases = []updateCase{
	{"scheduling.k8s.io/v1beta1/PodGroup", "minCount", `spec: {schedulingPolicy: {gang: {minCount: 2}}}`, `spec: {schedulingPolicy: {gang: {minCount: 3}}}`, nil},
	{"scheduling.k8s.io/v1beta1/PodGroup", "minCount 0", `spec: {schedulingPolicy: {gang: {minCount: 2}}}`, `spec: {schedulingPolicy: {gang: {minCount: 0}}}`, []string{
		"spec.schedulingPolicy.gang.minCount: Required value",
	}},
	{"scheduling.k8s.io/v1beta1/PodGroup", "policy", `spec: {schedulingPolicy: {gang: {minCount: 2}}}`, `spec: {schedulingPolicy: {basic: {}}}`, []string{
		"spec.schedulingPolicy.basic: Invalid value: null: field is immutable",
		"spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
	}},
	{"scheduling.k8s.io/v1beta1/PodGroup", "other policy", `spec: {schedulingPolicy: {basic: {}}}`, `spec: {schedulingPolicy: {basic: {}, gang: {minCount: 0}}}`, []string{
		"spec.schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`",
		"spec.schedulingPolicy.gang: Invalid value: null: field cannot be set once created",
	}},
	{"scheduling.k8s.io/v1beta1/PodGroup", "everything", `spec: {schedulingPolicy: {basic: {}}}`, `spec: {schedulingPolicy: {basic: {}}, workloadRef: {workloadName: w, templateName: t}, disruptionMode: {all: {}}, priorityClassName: p, priority: 1}`, []string{
		"spec.workloadRef: Invalid value: null: field is immutable",
		"spec.disruptionMode: Invalid value: null: field is immutable",
		"spec.priorityClassName: Invalid value: null: field is immutable",
		"spec.priority: Invalid value: null: field is immutable",
	}},
	{"scheduling.k8s.io/v1beta1/Workload", "minCount", `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {gang: {minCount: 1}}}]}`, `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {gang: {minCount: 2}}}]}`, nil},
	{"scheduling.k8s.io/v1beta1/Workload", "templates", `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}]}`, `spec: {podGroupTemplates: [{name: b, schedulingPolicy: {basic: {}}}]}`, []string{
		"spec.podGroupTemplates[0]: Forbidden: item may not be added",
		"spec.podGroupTemplates: Forbidden: item may not be removed",
	}},
	{"scheduling.k8s.io/v1beta1/Workload", "everything", `spec: {podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}]}`, `spec: {controllerRef: {kind: Job, name: a}, podGroupTemplates: [{name: a, schedulingPolicy: {gang: {minCount: 1}}, disruptionMode: {all: {}}, priorityClassName: p, priority: 1}]}`, []string{
		"spec.controllerRef: Invalid value: null: field is immutable",
		"spec.podGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is immutable",
		"spec.podGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field cannot be set once created",
		"spec.podGroupTemplates[0].disruptionMode: Invalid value: null: field is immutable",
		"spec.podGroupTemplates[0].priorityClassName: Invalid value: null: field is immutable",
		"spec.podGroupTemplates[0].priority: Invalid value: null: field is immutable",
	}},
}
