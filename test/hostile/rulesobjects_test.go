package hostile

// definitions derive manifests of built-in kinds, and definitions of custom kinds with an
// object each.
var definitions = grammar{
	"manifest": {
		"PATCH /apis/apps/v1/namespaces/hostile/deployments/«name»?«apply»\n«spec.deployment»", "PATCH /apis/apps/v1/namespaces/hostile/statefulsets/«name»?«apply»\n«spec.statefulset»", "PATCH /apis/batch/v1/namespaces/hostile/jobs/«name»?«apply»\n«spec.job»",
		"PATCH /apis/batch/v1/namespaces/hostile/cronjobs/«name»?«apply»\n«spec.cronjob»", "PATCH /api/v1/namespaces/hostile/services/«name»?«apply»\n«spec.service»", "PATCH /api/v1/namespaces/hostile/pods/«name»?«apply»\n«spec.pod»",
		"PATCH /api/v1/namespaces/hostile/resourcequotas/«name»?«apply»\n«applied»{apiVersion: v1, kind: ResourceQuota, spec: {hard: {configmaps: «quantity», requests.cpu: «quantity»}}}",
		"PATCH /apis/autoscaling/v2/namespaces/hostile/horizontalpodautoscalers/«name»?«apply»\n«applied»{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {minReplicas: 1, maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: h-1, apiVersion: apps/v1}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Value, value: «quantity»}}}], behavior: «json»}}",
	},
	"apply":   {"fieldManager=m&force=true", "fieldManager=m&force=true&fieldValidation=Strict", "fieldManager=m&dryRun=All&force=true"},
	"applied": {"Content-Type: application/apply-patch+yaml\n\n"},
	"spec.deployment": {
		"«applied»{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, selector: {matchLabels: {a: h«id»}}, strategy: «strategy», template: {metadata: {labels: {a: h«id»}}, spec: «podspec»}}}",
		"«applied»{apiVersion: apps/v1, kind: Deployment, spec: {replicas: -1, revisionHistoryLimit: «int», selector: {matchExpressions: [«expression*50»]}, template: «json»}}",
	},
	"expression":       {`{key: «word2», operator: In, values: [«comma*20»b]},`, "{key: a, operator: «word2»},"},
	"word2":            {"a", "In", "Exists", "«x*70»"},
	"strategy":         {"{type: Recreate}", "{rollingUpdate: {maxSurge: «quantity», maxUnavailable: «quantity»}}", "{rollingUpdate: {maxSurge: 9999999999%, maxUnavailable: 0%}}"},
	"spec.statefulset": {"«applied»{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1, serviceName: «string», minReadySeconds: «int», ordinals: {start: «int»}, selector: {matchLabels: {a: h«id»}}, template: {metadata: {labels: {a: h«id»}}, spec: «podspec»}}}"},
	"spec.job":         {"«applied»{apiVersion: batch/v1, kind: Job, spec: {parallelism: 1, completions: «int», backoffLimit: «int», activeDeadlineSeconds: «int», completionMode: Indexed, template: {spec: «jobspec»}}}"},
	"jobspec":          {"{restartPolicy: Never, containers: [«container»]}"},
	"spec.cronjob":     {"«applied»{apiVersion: batch/v1, kind: CronJob, spec: {schedule: «schedule», timeZone: «string», startingDeadlineSeconds: «int», jobTemplate: {spec: {template: {spec: «jobspec»}}}}}"},
	"schedule":         {`"* * * * *"`, `"0 0 30 2 *"`, `"@every 1ns"`, `"*/0 * * * *"`, `"0-99999999 * * * *"`, `"«field*1»"`, `"1,«commanumber*5000»2 * * * *"`, `"TZ=../../etc/passwd * * * * *"`},
	"commanumber":      {"1,"},
	"spec.service": {
		"«applied»{apiVersion: v1, kind: Service, spec: {ports: [{port: «int»}], clusterIP: «string»}}", "«applied»{apiVersion: v1, kind: Service, spec: {selector: {a: b}, ports: [«port*300»{port: 1}], type: NodePort}}", "«applied»{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, nodePort: «int»}], type: LoadBalancer, loadBalancerSourceRanges: [«string»], externalIPs: [«string»], sessionAffinityConfig: «json»}}",
	},
	"port":     {"{name: «word2», port: 80},", "{port: «int», targetPort: «int»},"},
	"spec.pod": {"«applied»{apiVersion: v1, kind: Pod, spec: «podspec»}"},
	"podspec": {
		"{containers: [«container»]}", "{containers: [«container», «container»], initContainers: [«container»]}", "{containers: [«manycontainers*500»{name: z, image: b}]}", "{containers: [«container»], affinity: «json», tolerations: «json»}",
		"{containers: [«container»], topologySpreadConstraints: [«spread*100»{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}", "{containers: [«container»], volumes: [«volume*300»{name: z, emptyDir: {}}]}", "{containers: [«container»], terminationGracePeriodSeconds: «int», activeDeadlineSeconds: «int»}",
		"{containers: [«container»], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [«term*200»{topologyKey: a}]}}}",
	},
	"manycontainers": {"{name: c, image: b},", "{name: «word2», image: b, ports: [{containerPort: «int»}]},"},
	"spread":         {"{maxSkew: «int», topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}},"},
	"term":           {"{topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}},"},
	"volume":         {"{name: v, configMap: {name: «string», defaultMode: «int»}},", "{name: «word2», projected: {sources: [«json»]}},"},
	"container": {
		"{name: c, image: b}", "{name: c, image: «string», command: [sh, -c, «quotedscript»]}", "{name: c, image: b, resources: {limits: {cpu: «quantity», memory: «quantity»}, requests: {cpu: «quantity»}}}", "{name: c, image: b, env: [«env*2000»{name: Z}]}",
		"{name: c, image: b, livenessProbe: {periodSeconds: «int», httpGet: {path: «string», port: «int»}}, readinessProbe: {exec: {command: [«string»]}, timeoutSeconds: 1}}", "{name: c, image: b, lifecycle: «json», securityContext: «json»}",
	},
	"quotedscript": {`"while :; do :; done"`, `"exit 1"`, `"yes | sort"`, `"a=x; while :; do a=$a$a; done"`},
	"env":          {"{name: A, value: $(A)$(A)$(A)},", "{name: «word2», value: $(B)},"},

	"schema": {
		"POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions\nContent-Type: application/json\n\n«definition»" + requestEnd + "POST /apis/h«id».example.com/v1/namespaces/hostile/things\nContent-Type: application/json\n\n{\"apiVersion\":\"h«id».example.com/v1\",\"kind\":\"Thing«id»\",\"metadata\":{\"name\":\"a\"},\"spec\":«thing»}" + requestEnd + "DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.h«id».example.com",
	},
	"definition": {`{"metadata":{"name":"things.h«id».example.com"},"spec":{"group":"h«id».example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing«id»"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":«openapi»}}}«printed»}]}}`},
	"printed":    {"", `,"additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":"«jsonpath»"}]`, `,"subresources":{"scale":{"specReplicasPath":"«jsonpath»","statusReplicasPath":"«jsonpath»"}}`, `,"selectableFields":[{"jsonPath":"«jsonpath»"}]`},
	"jsonpath":   {".spec.a", "..a", "«bracket*1000»", ".spec[?(@.a=='b')]", ".spec[0:-1:0]", ".«x*10000»", "{range .items[*]}{.a}", "..[?(@..a)]..*"},
	"openapi": {
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"type":"object","properties":{"a":«openapi»}}`, `{"type":"object","properties":{"a":«openapi»,"b":«openapi»}}`, `{"type":"array","items":«openapi»}`, `{"type":"object","additionalProperties":«openapi»}`, `{"type":"string","pattern":"«pattern»"}`,
		`{"type":"string","maxLength":1048576,"pattern":"«pattern»"}`, `{"type":"object","default":{"a":"b"},"properties":{"a":{"type":"string"}}}`, `{"type":"string","maxLength":1048576,"x-kubernetes-validations":[{"rule":"«selfrule»"}]}`, `{"type":"array","maxItems":5000,"items":{"type":"string","maxLength":100},"x-kubernetes-validations":[{"rule":"«selflistrule»"}]}`,
		"«badschema»",
	},
	"badschema":    {`{"type":"string","format":"«word»","maxLength":«int»}`, `{"type":"integer","enum":[«json»,«json»],"default":«json»}`, `{"allOf":[«openapi»,{"not":{}}],"type":"object"}`, "«json»", `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[«string»],"items":«openapi»}`, `{"type":"string","x-kubernetes-validations":[{"rule":"«celquoted»"}]}`},
	"selfrule":     {"self.matches('«pattern»')", "self == oldSelf", "self.split('').all(i, self.contains(i))", "self.replace('x', self).size() > 1", "self.findAll('«pattern»').size() > 0", "self.findAll('x(.*y)?').size() > 0", "self.lowerAscii().upperAscii() != 'a'", "self.startsWith('«word»')"},
	"selflistrule": {"self.all(a, self.exists(b, a == b))", "self.all(a, a.matches('«pattern»'))", "self.map(a, a + a).size() > 0", "self.isSorted()", "self.all(a, self.all(b, self.all(c, a == b && b == c)))"},
	"pattern":      {"^a*$", "(((x{0,10}){0,10}){0,10})*$", "(((x{0,9}){0,9}){0,9})*y", "(a|a)*b", "(x+x+)+y", "x{1000}", "((x{1,30}){1,30})", "[^\\\\x00-\\\\x{10FFFF}]", "«paren*500»", "(?i)«x*20000»", "\\\\pL{1,900}"},
	"thing":        {"{}", `{"a":{"x":1}}`, `["«x*90»","b","a"]`, "«json»", `{"a":«json»}`, `{"a":"«x*200000»"}`, `[«things*5000»{}]`, `"«x*1000000»"`, `{"a":{"a":{"a":«json»}}}`},
	"things":       {`{"a":"x"},`},
}

// expressions derive policies with a CEL expression each, and an object that it checks.
var expressions = grammar{
	"cel": {
		"POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies\nContent-Type: application/json\n\n{\"metadata\":{\"name\":\"«name»\"},\"spec\":{«variables»\"failurePolicy\":\"Fail\",\"matchConstraints\":{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"hostile\"}},\"objectSelector\":{\"matchLabels\":{\"input\":\"«id»\"}},\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"configmaps\"]}]},\"validations\":[{\"expression\":\"«celquoted»\"}]}}" + requestEnd +
			"POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings\nContent-Type: application/json\n\n{\"metadata\":{\"name\":\"«name»\"},\"spec\":{\"policyName\":\"«name»\",\"validationActions\":[\"Deny\"]}}" + requestEnd +
			"POST /api/v1/namespaces/hostile/configmaps\nContent-Type: application/json\n\n{\"metadata\":{\"name\":\"«name»\",\"labels\":{\"input\":\"«id»\"}},\"data\":{\"a\":\"«x*900000»\",\"b\":\"b\"}}" + requestEnd +
			"DELETE /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/«name»" + requestEnd + "DELETE /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/«name»",
	},
	"variables": {"", `"variables":[{"name":"v","expression":"«celquoted»"}],`, `"matchConditions":[{"name":"m","expression":"«celquoted»"}],`},
	"celquoted": {"«celbool»", "«celbool»", "«celbool»", "«celbool»", "«celbool»", "«celbool»", "«celbool»", "«celbool»", "«paren*3000»", "«word»"},
	"celbool": {
		"true", "«celstring».matches('«celpattern»')", "«celstring» == «celstring»", "«cellist».all(i, «celbool»)", "«cellist».exists(i, «celbool»)", "«strlist».all(i, i.matches('«celpattern»'))", "«cellist».all(i, 'x'.matches('x' + '«celpattern»'))", "size(«celstring») < «celint»", "!(«celbool»)", "(«celbool» || «celbool»)", "«celint» > «celint»", "(«celbool» ? «celbool» : «celbool»)",
		"quantity('«int»').isGreaterThan(quantity('1'))", "«celstring».contains(«celstring»)", "cidr('10.0.0.0/8').containsIP('10.0.0.1')", "«cellist».map(i, «cellist»).size() > 0", "authorizer.group('').resource('pods').check('get').allowed()", "has(object.data)", "url(«celstring»).getHost() == ''", "semver('«int».0.0').major() > 0", "optional.of(1).hasValue()",
	},
	"celstring":  {"'a'", "object.data.a", "string(object.data.a)", "(«celstring» + «celstring»)", "«strlist».join('ab')", "«celstring».replace('x', 'xxxxxxxx')", "'%s%s'.format([«celstring», «celstring»])", "«celstring».upperAscii()", "object.data.a.replace('', object.data.a)", "base64.encode(bytes(«celstring»))"},
	"strlist":    {"['a']", "«celstring».split('')", "«cellist».map(i, «celstring»)", "(«strlist» + «strlist»)", "object.data.a.findAll('«celpattern»')", "«strlist».sort()"},
	"cellist":    {"[1,2]", "lists.range(«celint»)", "[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, «celstring»)))", "[«strlist», «strlist»]", "«strlist»"},
	"celpattern": {"«pattern»", "[^y]", "\\\\pL+", "x(.*y)?", "x*y|x"},
	"celint":     {"1", "size(«celstring»)", "int('«digit*9»')", "(«celint» * «celint»)", "duration('«digit*5»h').getHours()", "timestamp('2026-01-01T00:00:00Z').getFullYear()", "(-9223372036854775808 / -1)", "(1 % 0)", "1000000000"},
}

// shellScripts derive scripts for a container.
var shellScripts = grammar{
	"script": {"«command»", "«command»; «command»", "«command»\n«command»\n«command»"},
	"command": {
		"true", "«command» | «command»", "«command» & «command»", "while :; do «command»; done", "f() { «command»; f; }; f", "for i in {1..«shellnumber»}; do «command»; done", "x=$(«command»)", "eval \"«command»\"", "(«command»)", "{ «command»; }", "if «command»; then «command»; fi", "case «shellword» in «shellword») «command»;; esac",
		"yes «shellword» | head -n «shellnumber»", "seq 1 «shellnumber»", "cat /dev/zero | tr '\\0' x", "printf '%«shellnumber»d' 1", "echo $((«arithmetic»))", "a=«shellword»; while :; do a=$a$a; done", "sleep «shellnumber»", "dd if=/dev/zero of=/tmp/«shellword» bs=1M count=«shellnumber»",
		"trap '«command»' TERM INT EXIT", "kill -«shellnumber» $$", "exec «command»", "find / -name «shellword» -exec cat {} +", "grep -E '«pattern»' <<< «shellword»", "sed 's/«pattern»/&&&&/g' <<< «shellword»", "awk '{ while (1) a = a $0 }' <<< «shellword»", "sort /dev/urandom", "tail -f /dev/zero", "read x < /dev/zero", "echo «shellword» > /proc/self/mem", "xargs -n1 sh -c '«command»' <<< «shellword»", "a[«shellnumber»]=1; echo ${a[@]}", "set -- «shellword»; while :; do set -- \"$@\" \"$@\"; done", "source /dev/stdin <<< «shellword»", "unset PATH; «command»", ": ${x:=«shellword»}; echo ${x//x/«shellword»}", "«paren*2000»", "cat <<A\n«shellword»\n", "ulimit -n «shellnumber»; «command»",
	},
	"shellnumber": {"1", "1000", "1000000000", "-1", "9223372036854775808"},
	"shellword":   {"x", "''", "«x*10000»", "$(«command»)", "{1..1000000}", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "${x:-«shellword»}", "~root", "*/*/*/*/*", "$'\\x00'", "`«command»`"},
	"arithmetic":  {"1", "«shellnumber» ** «shellnumber»", "«paren*5000»", "1 / 0", "x = x++ + ++x", "«arithmetic» << «shellnumber»", "a[«arithmetic»]"},
}

// answers derive what a webhook sends: HTTP responses, whose part after requestEnd repeats
// without end. UID is replaced with the one of the request.
var answers = grammar{
	"answer": {
		"HTTP/1.1 «status»\nContent-Type: «type»\n\n«review»", "HTTP/1.1 200 OK\nContent-Type: application/json\n«line*2»\n«review»", "HTTP/1.1 200 OK\nContent-Type: application/json\n\n" + requestEnd + "«x*10000»", "HTTP/1.1 200 OK\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n" + requestEnd + "1\nx\n",
		"HTTP/1.1 200 OK\n" + requestEnd + "X-A: «x*1000»\n", "HTTP/1.1 302 Found\nLocation: «location»\n\n", "HTTP/1.1 100 Continue\n\n" + requestEnd + "HTTP/1.1 100 Continue\n\n", "«word»", "", "HTTP/1.1 200 OK\nContent-Encoding: gzip\n\n«review»",
	},
	"status":   {"200 OK", "200 OK", "200 OK", "500 Internal Server Error", "«int» «word»", "204 No Content", "401 Unauthorized", "429 Too Many Requests\nRetry-After: «int»"},
	"location": {"/", "http://169.254.169.254/", "file:///etc/passwd", "https://127.0.0.1:1/", "«word»"},
	"review": {
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"«base64»"}}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true,"warnings":[«warning*3000»"a"]}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":false,"status":{"code":«int»,"message":"«x*500000»","reason":«string»,"details":«json»}}}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true,"auditAnnotations":{«string»:«string»}}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":«json»}`, "«json»", "«document»",
	},
	"warning": {`"«word»",`, `"«x*300»",`},
	// A patch that copies /data into itself 30 times, one that removes the metadata, one that is no array.
	"base64": {"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL21ldGFkYXRhIn1d", "e30=", "W3sib3AiOiJjb3B5IiwiZnJvbSI6IiIsInBhdGgiOiIvZGF0YS9hIn0seyJvcCI6ImNvcHkiLCJmcm9tIjoiIiwicGF0aCI6Ii9kYXRhL2IifSx7Im9wIjoiY29weSIsImZyb20iOiIiLCJwYXRoIjoiL2RhdGEvYyJ9XQ==", "«x*400»", "«word»"},
}
