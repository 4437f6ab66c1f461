package resources

const (
	labelled     = `template: {metadata: {labels: {a: b}}, spec: ` + goodPodSpec + `}`
	selected     = `selector: {matchLabels: {a: b}}, ` + labelled
	goodJob      = `template: {spec: {restartPolicy: Never, containers: [{name: web, image: nginx}]}}`
	indexedJob   = `completionMode: Indexed, completions: 3, ` + goodJob
	identified   = `metadata: {name: a, uid: u}, `
	scaledTarget = `scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}`
)

var workloadCases = []validateCase{
	{"apps/v1/StatefulSet", "minimal", `spec: {` + selected + `}`, nil},
	{"apps/v1/StatefulSet", "claim that is mounted", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: x, volumeMounts: [{name: data, mountPath: /d}]}]}}, ` +
		`volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}`, nil},
	{"apps/v1/StatefulSet", "wrong", `spec: {replicas: -1, podManagementPolicy: Any, serviceName: A_b, ordinals: {start: -1}, updateStrategy: {rollingUpdate: {maxUnavailable: 0, partition: -1}}, persistentVolumeClaimRetentionPolicy: {whenScaled: Ask}, volumeClaimTemplates: [{}], selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}`, []string{
		`spec.podManagementPolicy: Invalid value: "Any": must be 'OrderedReady' or 'Parallel'`,
		"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
		"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
		`spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Ask": supported values: "Retain", "Delete"`,
		"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
		"spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
		`spec.serviceName: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		"spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
		"spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
		"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
		"spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value",
		"spec.template.spec.volumes[0].name: Required value",
		`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
	}},
	{"apps/v1/DaemonSet", "minimal", `spec: {` + selected + `}`, nil},
	{"apps/v1/DaemonSet", "empty", `{}`, []string{
		"spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
		"spec.template.spec.containers: Required value",
	}},
	{"apps/v1/DaemonSet", "surge and unavailable", `spec: {updateStrategy: {rollingUpdate: {maxSurge: 1}}, ` + selected + `}`, []string{
		"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
	}},
	{"apps/v1/DaemonSet", "neither surge nor unavailable", `spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}, ` + selected + `}`, []string{
		"spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
	}},
	{"/v1/ReplicationController", "minimal", `spec: {` + labelled + `}`, nil},
	{"/v1/ReplicationController", "empty", `{}`, []string{"spec.selector: Required value", "spec.template: Required value"}},
	{"/v1/PodTemplate", "empty", `{}`, []string{"template.spec.containers: Required value"}},

	{"batch/v1/Job", "minimal", `{` + identified + `spec: {` + goodJob + `}}`, nil},
	{"batch/v1/Job", "no restart policy", `{` + identified + `spec: {template: {spec: ` + goodPodSpec + `}}}`, []string{
		`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
	}},
	{"batch/v1/Job", "another's label", `{` + identified + `spec: {template: {metadata: {labels: {controller-uid: x}}, spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}}`, []string{
		`spec.template.metadata.labels[controller-uid]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"a","controller-uid":"x","job-name":"a"}: must be 'u'`,
	}},
	{"batch/v1/Job", "selector of its own", `{` + identified + `spec: {selector: {matchLabels: {x: z}}, ` + goodJob + `}}`, []string{
		"spec.selector: Invalid value: {\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u\",\"x\":\"z\"}}: `selector` not auto-generated",
		"spec.template.metadata.labels: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"a\",\"controller-uid\":\"u\",\"job-name\":\"a\"}: `selector` does not match template `labels`",
	}},
	{"batch/v1/Job", "manual selector", `{` + identified + `spec: {manualSelector: true, selector: {matchLabels: {x: z}}, template: {metadata: {labels: {x: z}}, spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}}`, nil},
	{"batch/v1/Job", "indexed without number", `{` + identified + `spec: {completionMode: Indexed, parallelism: 1, ` + goodJob + `}}`, []string{
		"spec.completions: Required value: when completion mode is Indexed",
	}},
	{"batch/v1/Job", "indexes of a job without", `{` + identified + `spec: {backoffLimitPerIndex: 1, successPolicy: {rules: [{succeededCount: 1}]}, ` + goodJob + `}}`, []string{
		"spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
		`spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode`,
	}},
	{"batch/v1/Job", "success policy", `{` + identified + `spec: {successPolicy: {rules: [{succeededIndexes: "0-2"}, {}, {succeededIndexes: "2,1"}, {succeededIndexes: "0", succeededCount: 2}, {succeededIndexes: "3"}]}, ` + indexedJob + `}}`, []string{
		"spec.successPolicy.rules[1]: Required value: at least one of succeededCount or succeededIndexes must be specified",
		`spec.successPolicy.rules[2].succeededIndexes: Invalid value: "2,1": error parsing succeededIndexes: non-increasing order, previous: 2, current: 1`,
		"spec.successPolicy.rules[3].succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)",
		`spec.successPolicy.rules[4].succeededIndexes: Invalid value: "3": error parsing succeededIndexes: too large index: "3"`,
	}},
	{"batch/v1/Job", "failure policy", `{` + identified + `spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, containerName: z, values: [3, 0]}}, {action: FailIndex, onPodConditions: [{type: DisruptionTarget}]}, {}]}, ` + goodJob + `}}`, []string{
		`spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "z": must be one of the container or initContainer names in the pod template`,
		"spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
		"spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,0]: must be ordered",
		`spec.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
		`spec.podFailurePolicy.rules[2].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
		"spec.podFailurePolicy.rules[2]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
	}},
	{"batch/v1/CronJob", "minimal", `{metadata: {name: a}, spec: {schedule: "* * * * *", jobTemplate: {spec: {` + goodJob + `}}}}`, nil},
	{"batch/v1/CronJob", "wrong", `{metadata: {name: a}, spec: {schedule: "TZ=UTC * * *", timeZone: No/Where, concurrencyPolicy: Maybe, jobTemplate: {spec: {manualSelector: true, ` + goodJob + `}}}}`, []string{
		`spec.schedule: Invalid value: "TZ=UTC * * *": expected exactly 5 fields, found 3: [* * *]`,
		`spec.schedule: Invalid value: "TZ=UTC * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`,
		`spec.timeZone: Invalid value: "No/Where": unknown time zone No/Where`,
		`spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"`,
		`spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"`,
	}},
	{"batch/v1/CronJob", "long name", `{metadata: {name: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefff}, spec: {schedule: "@daily", jobTemplate: {spec: {` + goodJob + `}}}}`, []string{
		`metadata.name: Invalid value: "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefff": must be no more than 52 characters`,
	}},

	{"policy/v1/PodDisruptionBudget", "minimal", `spec: {minAvailable: 1, selector: {}}`, nil},
	{"policy/v1/PodDisruptionBudget", "wrong", `spec: {minAvailable: 101%, maxUnavailable: some, unhealthyPodEvictionPolicy: Never}`, []string{
		`spec: Invalid value: {"minAvailable":"101%","maxUnavailable":"some","unhealthyPodEvictionPolicy":"Never"}: minAvailable and maxUnavailable cannot be both set`,
		`spec.minAvailable: Invalid value: "101%": must not be greater than 100%`,
		`spec.maxUnavailable: Invalid value: "some": must be an integer or percentage (e.g '5%%')`,
		`spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"`,
	}},
	{"autoscaling/v2/HorizontalPodAutoscaler", "minimal", `spec: {maxReplicas: 3, ` + scaledTarget + `}`, nil},
	{"autoscaling/v2/HorizontalPodAutoscaler", "wrong", `spec: {minReplicas: 0, maxReplicas: 0, scaleTargetRef: {name: a/b}, metrics: [{type: Resource}, {type: Pods, pods: {metric: {name: q}, target: {type: AverageValue}}}, {}], behavior: {scaleUp: {policies: []}}}`, []string{
		"spec.maxReplicas: Required value",
		"spec.scaleTargetRef.kind: Required value",
		`spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'`,
		`spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`,
		"spec.metrics[0].resource: Required value: must populate information for the given metric source",
		"spec.metrics[1].pods.target.averageValue: Required value: must specify a positive target averageValue",
		"spec.metrics[2].type: Required value: must specify a metric source type",
		"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
		"spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
	}},
	{"autoscaling/v2/HorizontalPodAutoscaler", "to zero", `spec: {minReplicas: 0, maxReplicas: 3, ` + scaledTarget + `, metrics: [{type: External, external: {metric: {name: q}, target: {type: AverageValue, averageValue: 1}}}]}`, nil},
	{"autoscaling/v2/HorizontalPodAutoscaler", "negative", `spec: {minReplicas: -1, maxReplicas: -2, ` + scaledTarget + `}`, []string{
		"spec.minReplicas: Invalid value: -1: must be greater than or equal to 0",
		"spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1",
		"spec.maxReplicas: Invalid value: -2: must be greater than or equal to `minReplicas`",
	}},
	{"autoscaling/v1/HorizontalPodAutoscaler", "wrong", `spec: {maxReplicas: 3, targetCPUUtilizationPercentage: 0, ` + scaledTarget + `}`, []string{
		"spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
	}},
	{"/v1/LimitRange", "minimal", `spec: {limits: [{type: Container, max: {cpu: 1}}]}`, nil},
	{"/v1/LimitRange", "wrong", `spec: {limits: [{type: Pod, min: {cpu: 2}, max: {cpu: 1}, default: {cpu: 1}}, {type: PersistentVolumeClaim}, {type: Pod, maxLimitRequestRatio: {cpu: 500m}}, {type: Table}]}`, []string{
		"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
		`spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`,
		`spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1`,
		"spec.limits[1].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
		`spec.limits[2].type: Duplicate value: "Pod"`,
		`spec.limits[2].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`,
		`spec.limits[3].type: Invalid value: "Table": must be a standard limit type or fully qualified`,
	}},
	{"/v1/ResourceQuota", "minimal", `spec: {hard: {cpu: 1, pods: 3, count/jobs.batch: 2, requests.example.com/gpu: 1}}`, nil},
	{"/v1/ResourceQuota", "wrong", `spec: {hard: {gold: 1, pods: 500m, services: -1}, scopes: [BestEffort, NotBestEffort]}`, []string{
		`spec.hard[gold]: Invalid value: "gold": must be a standard resource for quota`,
		`spec.hard[pods]: Invalid value: "500m": must be an integer`,
		`spec.hard[services]: Invalid value: "-1": must be greater than or equal to 0`,
		`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource`,
		`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource`,
		`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`,
	}},
	{"/v1/PersistentVolumeClaim", "minimal", `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, nil},
	{"/v1/PersistentVolumeClaim", "wrong", `spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce, Ask], volumeMode: Round, resources: {requests: {storage: 0}}, dataSource: {kind: Thing, name: a}}`, []string{
		`spec.accessModes: Unsupported value: "Ask": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
		"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
		`spec.resources[storage]: Invalid value: "0": must be greater than zero`,
		`spec.volumeMode: Unsupported value: "Round": supported values: "Block", "Filesystem"`,
	}},
	{"/v1/PersistentVolume", "minimal", `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /d}}`, nil},
	{"/v1/PersistentVolume", "wrong", `spec: {capacity: {cpu: 1}, persistentVolumeReclaimPolicy: Burn, hostPath: {path: /d}, local: {path: /e}}`, []string{
		"spec.accessModes: Required value",
		`spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"`,
		`spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"`,
		"spec.local: Forbidden: may not specify more than 1 volume type",
	}},
}

var workloadUpdateCases = []updateCase{
	{"apps/v1/StatefulSet", "what may change", `spec: {` + selected + `}`, `spec: {replicas: 3, minReadySeconds: 2, updateStrategy: {type: OnDelete}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: d}]}}}`, nil},
	{"apps/v1/StatefulSet", "service", `spec: {` + selected + `}`, `spec: {serviceName: s, ` + selected + `}`, []string{`spec.serviceName: Invalid value: "s": field is immutable`}},
	{"apps/v1/DaemonSet", "selector", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, `spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, []string{
		`spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable`,
	}},
	{
		"batch/v1/CronJob", "time zone in an old schedule", `{metadata: {name: a, resourceVersion: "1"}, spec: {schedule: "TZ=UTC * * * * *", jobTemplate: {spec: {` + goodJob + `}}}}`,
		`{metadata: {name: a, resourceVersion: "1"}, spec: {schedule: "TZ=UTC 1 * * * *", jobTemplate: {spec: {` + goodJob + `}}}}`, nil,
	},
	{
		"batch/v1/CronJob", "time zone in a new schedule", `{metadata: {name: a, resourceVersion: "1"}, spec: {schedule: "@daily", jobTemplate: {spec: {` + goodJob + `}}}}`,
		`{metadata: {name: a, resourceVersion: "1"}, spec: {schedule: "TZ=UTC 1 * * * *", jobTemplate: {spec: {` + goodJob + `}}}}`,
		[]string{
			`spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`,
		},
	},
	{"/v1/ResourceQuota", "scopes", `spec: {scopes: [BestEffort]}`, `spec: {scopes: [Terminating]}`, []string{`spec.scopes: Invalid value: ["Terminating"]: field is immutable`}},
	{"/v1/PersistentVolumeClaim", "binding", `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, `spec: {volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, nil},
	{"/v1/PersistentVolumeClaim", "size before it is bound", `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}`, []string{
		"spec: Forbidden: " + claimImmutable,
	}},
	{"/v1/PersistentVolumeClaim", "size of a bound one", `{spec: {volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, `{spec: {volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}, status: {phase: Bound}}`, nil},
	{"/v1/PersistentVolume", "source", `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /d}}`, `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /e}}`, []string{
		"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
	}},
}
