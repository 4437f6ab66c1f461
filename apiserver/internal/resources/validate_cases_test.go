package resources

// validateCase is an object as a client sends it, with the errors that kubectl prints
// for it; none for a valid one.
type validateCase struct {
	kind, name, object string
	want               []string
}

// updateCase is an existing object and its update.
type updateCase struct {
	kind, name, old, object string
	want                    []string
}

var validateCases = []validateCase{
	{"/v1/Pod", "minimal", `spec: ` + goodPodSpec, nil},
	{"/v1/PersistentVolume", "empty driver sources", `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, volumeMode: Filesystem, fc: {targetWWNs: [a], lun: 256}}`, []string{
		"spec.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive",
	}},
	{"/v1/Pod", "empty", `{}`, []string{"spec.containers: Required value"}},
	{"/v1/Pod", "container without name and image", `spec: {containers: [{}]}`, []string{
		"spec.containers[0].name: Required value",
		"spec.containers[0].image: Required value",
	}},
	{"/v1/Pod", "names", `spec: {containers: [{name: A_b, image: x}, {name: c, image: x}, {name: c, image: x}]}`, []string{
		`spec.containers[0].name: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		`spec.containers[2].name: Duplicate value: "c"`,
	}},
	{"/v1/Pod", "enumerations", `spec: {restartPolicy: Sometimes, dnsPolicy: Sure, containers: [{name: a, image: x, imagePullPolicy: Maybe}]}`, []string{
		`spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"`,
		`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`,
		`spec.dnsPolicy: Unsupported value: "Sure": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"`,
	}},
	{"/v1/Pod", "ports", `spec: {containers: [{name: a, image: x, ports: [{containerPort: 0}, {containerPort: 70000, protocol: HTTP}]}]}`, []string{
		"spec.containers[0].ports[0].containerPort: Required value",
		"spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
		`spec.containers[0].ports[1].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"`,
	}},
	{"/v1/Pod", "resources", `spec: {containers: [{name: a, image: x, resources: {limits: {cpu: "1", gold: "1"}, requests: {cpu: "2", memory: "-1"}}}]}`, []string{
		`spec.containers[0].resources.limits[gold]: Invalid value: "gold": must be a standard resource type or fully qualified`,
		`spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
		`spec.containers[0].resources.requests[gold]: Invalid value: "gold": must be a standard resource type or fully qualified`,
		`spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`,
	}},
	{"/v1/Pod", "volumes", `spec: {volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}, {name: w, secret: {}}], containers: [{name: a, image: x, volumeMounts: [{name: z, mountPath: /z}, {name: v}]}]}`, []string{
		"spec.volumes[0].emptyDir: Forbidden: may not specify more than 1 volume type",
		"spec.volumes[1].secret.secretName: Required value",
		`spec.containers[0].volumeMounts[0].name: Not found: "z"`,
		`spec.containers[0].volumeMounts[1].name: Not found: "v"`,
		"spec.containers[0].volumeMounts[1].mountPath: Required value",
	}},
	{"/v1/Pod", "environment", `spec: {containers: [{name: a, image: x, env: [{value: x}, {name: B, value: x, valueFrom: {configMapKeyRef: {name: c, key: k}}}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.nom}}}]}]}`, []string{
		"spec.containers[0].env[0].name: Required value",
		"spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
		`spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.nom": error converting fieldPath: field label not supported: metadata.nom`,
	}},
	{"/v1/Pod", "probes", `spec: {containers: [{name: a, image: x, livenessProbe: {successThreshold: 2, tcpSocket: {port: 0}}, readinessProbe: {}}]}`, []string{
		"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive",
		"spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
		"spec.containers[0].readinessProbe: Required value: must specify a handler type",
	}},
	{"/v1/Pod", "tolerations", `spec: {tolerations: [{operator: Equal}, {key: k, operator: Exists, tolerationSeconds: 3, effect: NoSchedule}], containers: [{name: a, image: x}]}`, []string{
		"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
		"spec.tolerations[1].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
	}},
	{"/v1/Pod", "affinity", `spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}, nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}, containers: [{name: a, image: x}]}`, []string{
		"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
		"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
		`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty`,
		`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
	}},
	{"/v1/Pod", "ephemeral containers on create", `spec: {containers: [{name: a, image: x}], ephemeralContainers: [{name: d, image: x}]}`, []string{
		"spec.ephemeralContainers: Forbidden: cannot be set on create",
	}},

	{"apps/v1/Deployment", "minimal", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: ` + goodPodSpec + `}}`, nil},
	{"apps/v1/Deployment", "selector", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: ` + goodPodSpec + `}}`, []string{
		"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
	}},
	{"apps/v1/Deployment", "empty", `{}`, []string{
		"spec.selector: Required value",
		"spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
		"spec.template.spec.containers: Required value",
	}},
	{"apps/v1/Deployment", "numbers", `spec: {replicas: -1, minReadySeconds: 700, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: web, image: nginx}]}}}`, []string{
		"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
		`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
		"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
		"spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
	}},
	{"apps/v1/ReplicaSet", "minimal", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: ` + goodPodSpec + `}}`, nil},
	{"apps/v1/ReplicaSet", "empty selector", `spec: {selector: {}, template: {metadata: {labels: {a: b}}, spec: ` + goodPodSpec + `}}`, []string{
		"spec.selector: Invalid value: {}: empty selector is invalid for deployment",
	}},
	{"apps/v1/ControllerRevision", "minimal", `{data: {a: 1}, revision: 1}`, nil},
	{"apps/v1/ControllerRevision", "a list", `{data: [1], revision: 1}`, []string{"data: Required value: data must be a valid JSON object"}},
	{"apps/v1/ControllerRevision", "empty", `{revision: -1}`, []string{
		"data: Required value: data is mandatory",
		"revision: Invalid value: -1: must be greater than or equal to 0",
	}},

	{"/v1/Service", "minimal", `spec: {ports: [{port: 80}]}`, nil},
	{"/v1/Service", "no ports", `{}`, []string{"spec.ports: Required value"}},
	{"/v1/Service", "headless without ports", `spec: {clusterIP: None}`, nil},
	{"/v1/Service", "ports", `spec: {ports: [{port: 80, nodePort: 30000}, {port: 80, targetPort: Web!}]}`, []string{
		"spec.ports[0].name: Required value",
		"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
		"spec.ports[1].name: Required value",
		"spec.ports[1].targetPort: Invalid value: \"Web!\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
		`spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80,"targetPort":0}`,
	}},
	{"/v1/Service", "types", `spec: {type: Free, ports: [{port: 80}]}`, []string{
		`spec.type: Unsupported value: "Free": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`,
	}},
	{"/v1/Service", "external name", `spec: {type: ExternalName}`, []string{"spec.externalName: Required value"}},
	{"/v1/Service", "headless node port", `spec: {type: NodePort, clusterIP: None, ports: [{port: 80}]}`, []string{
		`spec.clusterIPs[0]: Invalid value: ["None"]: may not be set to 'None' for NodePort services`,
	}},
	{"/v1/Service", "bad address", `spec: {clusterIP: 1.2.3, ports: [{port: 80}]}`, []string{
		`spec.clusterIPs[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
	}},

	{"/v1/ConfigMap", "minimal", `{}`, nil},
	{"/v1/ConfigMap", "keys", `{data: {a/b: x, c: y}, binaryData: {c: eA==}}`, []string{
		`data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		`data[c]: Invalid value: "c": duplicate of key present in binaryData`,
	}},
	{"/v1/Secret", "minimal", `{}`, nil},
	{"/v1/Secret", "tls", `{type: kubernetes.io/tls}`, []string{"data[tls.crt]: Required value", "data[tls.key]: Required value"}},
	{"/v1/Secret", "docker", `{type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: "{"}}`, []string{
		`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input`,
	}},
	{"/v1/Secret", "token", `{type: kubernetes.io/service-account-token}`, []string{
		"metadata.annotations[kubernetes.io/service-account.name]: Required value",
	}},
	{"/v1/ServiceAccount", "minimal", `{}`, nil},
	{"/v1/Namespace", "minimal", `metadata: {name: a}`, nil},
	{"/v1/Namespace", "finalizer", `{metadata: {name: a}, spec: {finalizers: [mine]}}`, []string{
		`spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
	}},
	{"/v1/Node", "minimal", `{}`, nil},
	{"/v1/Node", "taints", `spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}, {key: "", effect: Never}]}`, []string{
		`spec.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule"}: taints must be unique by key and effect pair`,
		`spec.taints[2].key: Invalid value: "": name part must be non-empty`,
		`spec.taints[2].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		`spec.taints[2].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
	}},
	{"scheduling.k8s.io/v1/PriorityClass", "minimal", `{metadata: {name: high}, value: 1000}`, nil},
	{"scheduling.k8s.io/v1/PriorityClass", "too high", `{metadata: {name: high}, value: 1000000001, preemptionPolicy: Now}`, []string{
		"value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
		`preemptionPolicy: Unsupported value: "Now": supported values: "PreemptLowerPriority", "Never"`,
	}},
	{"scheduling.k8s.io/v1/PriorityClass", "system", `{metadata: {name: system-mine}, value: 1}`, []string{
		"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
	}},
	{"coordination.k8s.io/v1/Lease", "minimal", `{}`, nil},
	{"coordination.k8s.io/v1/Lease", "numbers", `spec: {leaseDurationSeconds: 0, leaseTransitions: -1}`, []string{
		"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
		"spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
	}},
	{"/v1/Event", "minimal", `{metadata: {namespace: a}, involvedObject: {namespace: a}}`, nil},
	{"/v1/Event", "elsewhere", `{metadata: {namespace: a}, involvedObject: {namespace: b}}`, []string{
		`involvedObject.namespace: Invalid value: "b": does not match event.namespace`,
	}},
	{"events.k8s.io/v1/Event", "minimal", `{metadata: {namespace: default}, eventTime: "2024-01-01T00:00:00.000000Z", reportingController: c, reportingInstance: i, action: a, reason: r, type: Normal}`, nil},
	{"events.k8s.io/v1/Event", "empty", `metadata: {namespace: default}`, []string{
		"eventTime: Required value",
		"reportingController: Required value",
		"reportingInstance: Required value",
		"action: Required value",
		"reason: Required value",
		`type: Invalid value: "": has invalid value: `,
	}},
	{"/v1/Endpoints", "minimal", `{}`, nil},
	{"/v1/Endpoints", "addresses", `subsets: [{}, {addresses: [{ip: 127.0.0.1}], ports: [{port: 80}, {port: 0}]}]`, []string{
		"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
		`subsets[1].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
		"subsets[1].ports[0].name: Required value",
		"subsets[1].ports[1].name: Required value",
		"subsets[1].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
	}},
	{"discovery.k8s.io/v1/EndpointSlice", "minimal", `addressType: IPv4`, nil},
	{"discovery.k8s.io/v1/EndpointSlice", "wrong", `{addressType: IPv9, endpoints: [{}], ports: [{name: a}, {name: a}]}`, []string{
		`addressType: Unsupported value: "IPv9": supported values: "FQDN", "IPv4", "IPv6"`,
		"endpoints[0].addresses: Required value: must contain at least 1 address",
		`ports[1].name: Duplicate value: "a"`,
	}},
}

var updateCases = []updateCase{
	{"/v1/Pod", "image", `spec: ` + goodPodSpec, `spec: {containers: [{name: web, image: nginx, imagePullPolicy: Always}]}`, nil},
	{"/v1/Pod", "new image", `spec: {containers: [{name: web, image: "nginx:1"}]}`, `spec: {containers: [{name: web, image: "nginx:2"}]}`, nil},
	{"/v1/Pod", "command", `spec: ` + goodPodSpec, `spec: {containers: [{name: web, image: nginx, command: [sh]}]}`, []string{
		"spec: Forbidden: " + podImmutable,
	}},
	{"/v1/Pod", "one container more", `spec: ` + goodPodSpec, `spec: {containers: [{name: web, image: nginx}, {name: b, image: c}]}`, []string{
		"spec.containers: Forbidden: pod updates may not add or remove containers",
	}},
	{"/v1/Pod", "deadline", `spec: {activeDeadlineSeconds: 10, containers: [{name: web, image: nginx}]}`, `spec: {activeDeadlineSeconds: 20, containers: [{name: web, image: nginx}]}`, []string{
		"spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value",
	}},
	{"/v1/Pod", "one toleration more", `spec: ` + goodPodSpec, `spec: {tolerations: [{operator: Exists}], containers: [{name: web, image: nginx}]}`, nil},
	{"/v1/Pod", "one toleration less", `spec: {tolerations: [{operator: Exists}], containers: [{name: web, image: nginx}]}`, `spec: ` + goodPodSpec, []string{
		"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
		"spec: Forbidden: " + podImmutable,
	}},
	{"/v1/Pod", "node selector behind a gate", `spec: {schedulingGates: [{name: g}], containers: [{name: web, image: nginx}]}`, `spec: {nodeSelector: {a: b}, containers: [{name: web, image: nginx}]}`, nil},
	{"apps/v1/Deployment", "selector", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, `spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, []string{
		`spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable`,
	}},
	{"apps/v1/ReplicaSet", "selector", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, `spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: ` + goodPodSpec + `}}`, []string{
		`spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable`,
	}},
	{"apps/v1/ControllerRevision", "data", `{data: {a: 1}}`, `{data: {a: 2}}`, []string{`data: Invalid value: {"a":2}: field is immutable`}},
	{"/v1/Service", "address", `spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}`, `spec: {clusterIP: 10.96.0.8, ports: [{port: 80}]}`, []string{
		`spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set`,
	}},
	{"/v1/Service", "address left out", `spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}`, `spec: {ports: [{port: 81}]}`, nil},
	{
		"/v1/Service", "from node port to cluster IP", `spec: {type: NodePort, clusterIP: 10.96.0.7, ports: [{port: 80, nodePort: 30001}]}`,
		`spec: {type: ClusterIP, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], externalTrafficPolicy: Cluster, ports: [{port: 80, nodePort: 30001}]}`, nil,
	},
	{
		"/v1/Service", "from cluster IP to external name", `spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}`,
		`spec: {type: ExternalName, externalName: example.com, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80}]}`, nil,
	},
	{"/v1/ConfigMap", "immutable", `{immutable: true, data: {a: b}}`, `{data: {a: c}}`, []string{
		"immutable: Forbidden: field is immutable when `immutable` is set",
		"data: Forbidden: field is immutable when `immutable` is set",
	}},
	{"/v1/Secret", "type", `{}`, `{type: mine}`, []string{`type: Invalid value: "mine": field is immutable`}},
	{"/v1/Secret", "immutable", `{immutable: true}`, `{immutable: true, stringData: {a: b}}`, []string{
		"data: Forbidden: field is immutable when `immutable` is set",
	}},
	{"/v1/Node", "network", `spec: {podCIDR: 10.0.0.0/24}`, `spec: {podCIDR: 10.0.1.0/24}`, []string{
		`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`,
	}},
	{"/v1/Node", "taint and provider", `{}`, `spec: {unschedulable: true, providerID: a, taints: [{key: a, effect: NoExecute}]}`, nil},
	{"scheduling.k8s.io/v1/PriorityClass", "value", `{metadata: {name: a}, value: 1}`, `{metadata: {name: a}, value: 2}`, []string{
		"value: Forbidden: may not be changed in an update.",
	}},
	{"discovery.k8s.io/v1/EndpointSlice", "address type", `addressType: IPv4`, `addressType: IPv6`, []string{`addressType: Invalid value: "IPv6": field is immutable`}},
}

// The errors for forbidden changes.
const (
	podImmutable = "pod updates may not change fields other than `spec.containers[*].image`," +
		"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
	claimImmutable = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
