package resources

const (
	goodRule   = `{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}`
	goodWebook = `name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], rules: [` + goodRule + `]`
)

var clusterCases = []validateCase{
	{"rbac.authorization.k8s.io/v1/Role", "rules", `rules: [{}, {verbs: [get], nonResourceURLs: [/x], resources: [a]}]`, []string{
		"rules[0].verbs: Required value: verbs must contain at least one value",
		"rules[0].apiGroups: Required value: resource rules must supply at least one api group",
		"rules[0].resources: Required value: resource rules must supply at least one resource",
		`rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs`,
		`rules[1].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs`,
	}},
	{"rbac.authorization.k8s.io/v1/ClusterRole", "aggregation", `aggregationRule: {}`, []string{
		"aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
	}},
	{"rbac.authorization.k8s.io/v1/RoleBinding", "minimal", `{roleRef: {kind: Role, name: a}, subjects: [{kind: User, name: ann}, {kind: ServiceAccount, name: default}]}`, nil},
	{"rbac.authorization.k8s.io/v1/ClusterRoleBinding", "wrong", `{roleRef: {kind: Role}, subjects: [{kind: ServiceAccount, name: a}, {kind: Robot}]}`, []string{
		`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
		"roleRef.name: Required value",
		"subjects[0].namespace: Required value",
		"subjects[1].name: Required value",
		`subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"`,
	}},

	{"networking.k8s.io/v1/NetworkPolicy", "minimal", `spec: {podSelector: {}}`, nil},
	{"networking.k8s.io/v1/NetworkPolicy", "wrong", `spec: {podSelector: {}, policyTypes: [Both], ingress: [{from: [{}, {podSelector: {}, ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}], ports: [{endPort: 3}, {port: http, endPort: 3}, {port: 9, endPort: 3, protocol: HTTP}]}]}`, []string{
		"spec.ingress[0].ports[0].endPort: Invalid value: 3: may not be specified when `port` is not specified",
		"spec.ingress[0].ports[1].endPort: Invalid value: 3: may not be specified when `port` is non-numeric",
		`spec.ingress[0].ports[2].protocol: Unsupported value: "HTTP": supported values: "TCP", "UDP", "SCTP"`,
		"spec.ingress[0].ports[2].endPort: Invalid value: 9: must be greater than or equal to `port`",
		"spec.ingress[0].from[0]: Required value: must specify a peer",
		"spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
		"spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
		`spec.policyTypes[0]: Unsupported value: "Both": supported values: "Egress", "Ingress"`,
	}},
	{"networking.k8s.io/v1/Ingress", "minimal", `spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}`, nil},
	{"networking.k8s.io/v1/Ingress", "empty", `{}`, []string{"spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"}},
	{"networking.k8s.io/v1/Ingress", "wrong", `spec: {rules: [{host: 1.2.3.4, http: {paths: [{path: a}, {path: "a//b", pathType: Prefix, backend: {service: {name: a}}}]}}, {host: "*.example.com", http: {}}]}`, []string{
		`spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address`,
		"spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
		`spec.rules[0].http.paths[1].path: Invalid value: "a//b": must be an absolute path`,
		`spec.rules[0].http.paths[1].path: Invalid value: "a//b": must not contain '//'`,
		"spec.rules[0].http.paths[1].backend: Required value: port name or number is required",
		"spec.rules[1].http.paths: Required value",
	}},
	{"networking.k8s.io/v1/IngressClass", "wrong", `spec: {controller: example.com, parameters: {kind: A, name: b, scope: Namespace}}`, []string{
		`spec.controller: Invalid value: "example.com": must be a domain-prefixed path (such as "acme.io/foo")`,
		"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
	}},
	{"networking.k8s.io/v1/IPAddress", "empty", `{}`, []string{"spec.parentRef: Required value"}},
	{"networking.k8s.io/v1/ServiceCIDR", "empty", `{}`, []string{"spec.cidrs: Required value: at least one CIDR required"}},
	{"networking.k8s.io/v1/ServiceCIDR", "one family", `spec: {cidrs: [10.0.0.0/24, 10.1.0.0/24]}`, []string{
		`spec.cidrs: Invalid value: {"cidrs":["10.0.0.0/24","10.1.0.0/24"]}: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96`,
	}},

	{"storage.k8s.io/v1/StorageClass", "minimal", `provisioner: example.com/p`, nil},
	{"storage.k8s.io/v1/StorageClass", "wrong", `{reclaimPolicy: Recycle, volumeBindingMode: Later, parameters: {"": a}}`, []string{
		"provisioner: Required value",
		`parameters: Invalid value: "": field can not be empty.`,
		`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`,
		`volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"`,
	}},
	{"storage.k8s.io/v1/VolumeAttributesClass", "empty", `driverName: a`, []string{"parameters: Required value: must contain at least one key/value pair"}},
	{"storage.k8s.io/v1/CSIDriver", "minimal", `metadata: {name: csi.example.com}`, nil},
	{"storage.k8s.io/v1/CSINode", "twice", `spec: {drivers: [{name: a, nodeID: x}, {name: a}]}`, []string{
		`spec.drivers[1].name: Duplicate value: "a"`,
		"spec.drivers[1].nodeID: Required value",
	}},
	{"storage.k8s.io/v1/VolumeAttachment", "no source", `spec: {attacher: a, nodeName: n}`, []string{
		"spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
	}},

	{"certificates.k8s.io/v1/CertificateSigningRequest", "wrong", `spec: {request: aGVsbG8=, signerName: a/b, usages: [flying], expirationSeconds: 60}`, []string{
		`spec.request: Invalid value: "aGVsbG8=": PEM block type must be CERTIFICATE REQUEST`,
		`spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "server auth", "s/mime", "signing", "timestamping"`,
		`spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots`,
		"spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 600 seconds (10 minutes)",
	}},
	{"node.k8s.io/v1/RuntimeClass", "minimal", `handler: runsc`, nil},
	{"node.k8s.io/v1/RuntimeClass", "wrong", `{handler: run, overhead: {podFixed: {memory: "-1"}}}`, []string{
		`overhead.podFixed[memory]: Invalid value: "-1": must be greater than or equal to 0`,
	}},

	{"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "minimal", `webhooks: [{clientConfig: {url: "https://example.com/a"}, ` + goodWebook + `}]`, nil},
	{"admissionregistration.k8s.io/v1/MutatingWebhookConfiguration", "wrong", `webhooks: [{name: a, timeoutSeconds: 31, rules: [{apiGroups: ["*", a], apiVersions: [v1], operations: [MELT], resources: ["*", pods, "pods/*", pods/status]}], admissionReviewVersions: [v9], clientConfig: {url: "http://a?b"}}]`, []string{
		`webhooks[0].name: Invalid value: "a": should be a domain with at least three segments separated by dots`,
		`webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1`,
		`webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups`,
		`webhooks[0].rules[0].resources[3]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
		`webhooks[0].rules[0].resources: Invalid value: ["*","pods","pods/*","pods/status"]: if '*' is present, must not specify other resources without subresources`,
		`webhooks[0].rules[0].operations[0]: Unsupported value: "MELT": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
		"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
		"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
		`webhooks[0].clientConfig.url: Invalid value: "http://a?b": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
		`webhooks[0].clientConfig.url: Invalid value: "http://a?b": query parameters are not permitted in the URL`,
	}},
	{"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", "minimal", `spec: {matchConstraints: {resourceRules: [` + goodRule + `]}, validations: [{expression: "true"}]}`, nil},
	{"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "match conditions", `webhooks: [{clientConfig: {url: "https://example.com/a"}, matchConditions: [{name: good, expression: "object.metadata.name != 'a'"}, {name: broken, expression: "object."}, {name: number, expression: "1"}], ` + goodWebook + `}]`, []string{
		`webhooks[0].matchConditions[1].expression: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'`,
		`webhooks[0].matchConditions[2].expression: Invalid value: "1": must evaluate to bool but got int`,
	}},
	{"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", "expressions", `spec: {matchConstraints: {resourceRules: [` + goodRule + `]}, variables: [{name: few, expression: "object.spec.replicas < 5"}], validations: [{expression: "variables.few", messageExpression: "1"}, {expression: "variables.many"}, {expression: "params.a"}]}`, []string{
		`spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int`,
		`spec.validations[1].expression: Invalid value: "variables.many": compilation failed: ERROR: <input>:1:10: undefined field 'many'`,
		`spec.validations[2].expression: Invalid value: "params.a": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')`,
	}},
	{"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", "expressions", `spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [` + goodRule + `]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/a", value: 1}]'}}, {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{replicas: 3}}'}}, {patchType: ApplyConfiguration, applyConfiguration: {expression: "1"}}]}`, []string{
		`spec.mutations[2].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int`,
	}},
	{"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", "empty", `{}`, []string{
		"spec.matchConstraints: Required value",
		"spec.validations: Required value: validations or auditAnnotations must contain at least one item",
		"spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
	}},
	{"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding", "wrong", `spec: {paramRef: {}, validationActions: [Deny, Warn]}`, []string{
		"spec.policyName: Required value",
		"spec.paramRef: Required value: one of name or selector must be specified",
		"spec.paramRef.parameterNotFoundAction: Required value",
		`spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`,
	}},
	{"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", "wrong", `spec: {matchConstraints: {resourceRules: [` + goodRule + `]}, mutations: [{patchType: JSONPatch}]}`, []string{
		"spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
		"spec.reinvocationPolicy: Required value",
	}},
	{"flowcontrol.apiserver.k8s.io/v1/FlowSchema", "wrong", `spec: {matchingPrecedence: 1, rules: [{}, {subjects: [{kind: User}], resourceRules: [{verbs: ["*", get], apiGroups: ["*"], resources: ["*"]}]}]}`, []string{
		"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
		"spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
		"spec.rules[0].subjects: Required value: subjects must contain at least one value",
		"spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
		"spec.rules[1].subjects[0].user: Required value: is required when subject kind is 'User'",
		`spec.rules[1].resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs`,
		"spec.rules[1].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
	}},
	{"flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", "wrong", `spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {queues: 4, handSize: 9}}}}`, []string{
		"spec.limited.limitResponse.queuing.handSize: Invalid value: 9: should not be greater than queues (4)",
	}},
	{"resource.k8s.io/v1/ResourceClaim", "minimal", `spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}`, nil},
	{"resource.k8s.io/v1/ResourceClaim", "wrong", `spec: {devices: {requests: [{name: g}, {name: g, exactly: {allocationMode: All, count: 2}}], constraints: [{requests: [z]}]}}`, []string{
		"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
		"spec.devices.requests[1].exactly.deviceClassName: Required value",
		"spec.devices.requests[1].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
		`spec.devices.requests[1]: Duplicate value: "g"`,
		`spec.devices.constraints[0].requests[0]: Invalid value: "z": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
		"spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set",
	}},
	{"resource.k8s.io/v1/ResourceSlice", "minimal", `spec: {driver: a.example.com, nodeName: n, pool: {name: n, resourceSliceCount: 1}, devices: [{name: d, attributes: {model: {string: x}}}]}`, nil},
	{"storagemigration.k8s.io/v1/StorageVersionMigration", "empty", `{}`, []string{"spec.resource.resource: Required value: resource is required to be set"}},
	{"storagemigration.k8s.io/v1/StorageVersionMigration", "core group", `spec: {resource: {resource: secrets}}`, nil},
	{"storagemigration.k8s.io/v1/StorageVersionMigration", "names", `spec: {resource: {group: A, resource: 1a}}`, []string{
		`spec.resource.resource: Invalid value: "1a": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
		`spec.resource.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
	}},
	{"resource.k8s.io/v1/ResourceSlice", "wrong", `spec: {driver: a, nodeName: n, allNodes: true, pool: {name: n}, devices: [{name: D, attributes: {a-b: {}}}]}`, []string{
		"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
		"spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set",
		`spec.devices[0].name: Invalid value: "D": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		`spec.devices[0].attributes: Invalid value: "a-b": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')`,
		"spec.devices[0].attributes[a-b]: Invalid value: \"\": exactly one value must be specified",
	}},
}

var clusterUpdateCases = []updateCase{
	{"rbac.authorization.k8s.io/v1/RoleBinding", "role", `roleRef: {kind: Role, name: a}`, `roleRef: {kind: Role, name: b}`, []string{
		`roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"b"}: cannot change roleRef`,
	}},
	{"networking.k8s.io/v1/IngressClass", "controller", `spec: {controller: example.com/a}`, `spec: {controller: example.com/b}`, []string{
		`spec.controller: Invalid value: "example.com/b": field is immutable`,
	}},
	{"networking.k8s.io/v1/ServiceCIDR", "second family", `spec: {cidrs: [10.0.0.0/24]}`, `spec: {cidrs: [10.0.0.0/24, "2001:db8::/112"]}`, nil},
	{"networking.k8s.io/v1/ServiceCIDR", "range", `spec: {cidrs: [10.0.0.0/24]}`, `spec: {cidrs: [10.0.1.0/24]}`, []string{`spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable`}},
	{"storage.k8s.io/v1/StorageClass", "all", `{provisioner: a, parameters: {a: b}}`, `{provisioner: b, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}`, []string{
		"parameters: Forbidden: updates to parameters are forbidden.",
		"reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
		`provisioner: Invalid value: "b": field is immutable`,
		`volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable`,
	}},
	{"storagemigration.k8s.io/v1/StorageVersionMigration", "spec", `spec: {resource: {resource: secrets}}`, `spec: {resource: {resource: configmaps}}`, []string{
		`spec: Invalid value: {"resource":{"group":"","resource":"configmaps"}}: field is immutable`,
	}},
	{"node.k8s.io/v1/RuntimeClass", "handler", `handler: a`, `handler: b`, []string{`handler: Invalid value: "b": field is immutable`}},
	{"resource.k8s.io/v1/ResourceClaim", "spec", `spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}`, `spec: {devices: {requests: [{name: g, exactly: {deviceClassName: tpu}}]}}`, []string{
		`spec: Invalid value: {"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"tpu","allocationMode":"ExactCount","count":1}}]}}: field is immutable`,
	}},
}
